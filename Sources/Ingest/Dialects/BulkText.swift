import JSON
import Logs
import System

/// The text of a bulk answer, while it is written.
struct BulkText {
    private let parts: BulkAnswer.Parts
    private var bytes: [UInt8] = [UInt8(ascii: "{")]
    private var reasonsLeft = BulkAnswer.reasonsMax

    init(_ parts: BulkAnswer.Parts) {
        self.parts = parts
    }

    mutating func member(_ name: StaticString, _ value: StaticString) {
        if bytes.count > 1 { put(",") }
        put("\"")
        put(name)
        put("\":")
        put(value)
    }

    /// Elasticsearch omits items that are empty after filtering. Returns false when the text gets
    /// too long.
    mutating func items(
        _ items: BulkItems,
        _ indices: [ElasticIndex],
        atMost bytesMax: Int
    ) -> Bool {
        guard !parts.isDisjoint(with: .items) else { return true }
        let (start, names) = (bytes.count, indices.map { Array(jsonQuoted($0.name).utf8) })
        bytes.reserveCapacity(min(items.count * (parts == .all ? 112 : 32) + 64, bytesMax))
        member("items", "[")
        let (first, minted) = (bytes.count, hex(randomBytes(8)))
        for (number, item) in items.items.enumerated() {
            let refusal = refusal(of: item, items) ?? item.part.flatMap { indices[$0].refusal }
            guard refusal != nil || parts.intersection(.items) != .error else { continue }
            if bytes.count > first { put(",") }
            put("{\"")
            put(item.operation.name)
            put("\":{")
            let inner = bytes.count
            if parts.contains(.index) {
                put("\"_index\":")
                if let part = item.part {
                    bytes += names[part]
                } else {
                    quote(items.name(of: item))
                }
            }
            if parts.contains(.id) { id(of: item, items, inner) { "\(minted)-\(number)" } }
            if let refusal {
                failure(refusal, inner)
            } else {
                success(item, inner)
            }
            put("}}")
            // With the end of the text.
            guard bytes.count + 2 <= bytesMax else { return false }
        }
        if bytes.count > first { put("]") } else { bytes.removeLast(first - start) }
        return true
    }

    private mutating func id(
        of item: BulkItems.Item,
        _ items: BulkItems,
        _ inner: Int,
        _ minted: () -> String
    ) {
        separate(inner)
        put("\"_id\":")
        let own = items.id(of: item)
        if own.isEmpty {
            put("\"")
            bytes += minted().utf8
            put("\"")
        } else {
            quote(own)
        }
    }

    /// Writes the same as `jsonQuoted` without making a String: one request may bring megabytes of
    /// names.
    private mutating func quote(_ text: ArraySlice<UInt8>) {
        let start = bytes.count
        put("\"")
        for byte in text {
            switch byte {
            case 0x80...:
                // Some of these characters are escaped too, and they are rare.
                bytes.removeSubrange(start...)
                bytes += jsonQuoted(String(decoding: text, as: UTF8.self)).utf8
                return
            case UInt8(ascii: "\""): put("\\\"")
            case UInt8(ascii: "\\"): put("\\\\")
            case UInt8(ascii: "\n"): put("\\n")
            case UInt8(ascii: "\r"): put("\\r")
            case UInt8(ascii: "\t"): put("\\t")
            case ..<0x20, 0x7F:
                put("\\u00")
                bytes.append(Self.digits[Int(byte >> 4)])
                bytes.append(Self.digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        put("\"")
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private mutating func success(_ item: BulkItems.Item, _ inner: Int) {
        if parts.contains(.version) {
            separate(inner)
            put("\"_version\":1")
        }
        if parts.contains(.result) {
            separate(inner)
            put("\"result\":\"created\"")
        }
        if parts.contains(.status) {
            separate(inner)
            put("\"status\":201")
        }
    }

    private mutating func failure(_ refusal: Refusal, _ inner: Int) {
        if parts.contains(.status) {
            separate(inner)
            put("\"status\":")
            bytes += "\(refusal.status)".utf8
        }
        guard parts.contains(.error), reasonsLeft > 0 else { return }
        reasonsLeft -= 1
        separate(inner)
        var json = JSONWriter()
        json.object { $0.cause(refusal) }
        put("\"error\":")
        bytes += json.bytes
    }

    private func refusal(of item: BulkItems.Item, _ items: BulkItems) -> Refusal? {
        switch item.outcome {
        case .taken: nil
        case .crowded: .tooManyIndices
        case .unsupported: .writtenOnce
        case .unreadable(let number):
            Refusal(400, "PostBodyInvalid", items.fault(number).description)
        }
    }

    private mutating func separate(_ inner: Int) {
        if bytes.count > inner { put(",") }
    }

    private mutating func put(_ text: StaticString) {
        text.withUTF8Buffer { bytes += $0 }
    }

    mutating func finish() -> [UInt8] {
        put("}")
        return bytes
    }
}

extension BulkItems.Operation {
    fileprivate var name: StaticString {
        switch self {
        case .index: "index"
        case .create: "create"
        case .update: "update"
        case .delete: "delete"
        }
    }
}

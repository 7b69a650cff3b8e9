import JSON
import Logs
import System

/// The answer to `_bulk`, with an item for each action in their order. It is written into one
/// buffer, since there may be ten thousand items, and before the logs are stored, since the queue's
/// thread must not spend time on it.
///
/// A small request must not cause a huge answer for a client that does not read. Beyond a number of
/// actions each item has its status only, and beyond a number of failures no reason. The same form
/// is used when the whole answer would be too large: names and ids take six times their size when
/// each byte is escaped.
struct BulkAnswer {
    /// More than agents send at once by default, so agents get whole answers.
    static let wholeItemsMax = 10_000
    static let reasonsMax = 1000

    let items: BulkItems
    let indices: [ElasticIndex]
    let parts: Parts

    /// nil when even the short form is larger.
    func body(atMost bytesMax: Int) -> [UInt8]? {
        let isWhole = items.count <= Self.wholeItemsMax
        return (isWhole ? body(of: parts, atMost: bytesMax) : nil)
            ?? body(of: parts.intersection(.brief), atMost: bytesMax)
    }

    private func body(of told: Parts, atMost bytesMax: Int) -> [UInt8]? {
        var text = BulkText(told)
        if parts.contains(.took) { text.member("took", "0") }
        if parts.contains(.errors) { text.member("errors", hasErrors ? "true" : "false") }
        return text.items(items, indices, atMost: bytesMax) ? text.finish() : nil
    }

    var hasErrors: Bool {
        items.items.contains { item in
            item.outcome != .taken || item.part.map { indices[$0].refusal != nil } != false
        }
    }
}

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
            Refusal.badBody(items.fault(number).description)
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

extension BulkAnswer {
    /// The members of the answer that a client asks for.
    struct Parts: OptionSet, Sendable {
        let rawValue: UInt16

        static let took = Parts(rawValue: 1)
        static let errors = Parts(rawValue: 2)
        static let index = Parts(rawValue: 4)
        static let id = Parts(rawValue: 8)
        static let version = Parts(rawValue: 16)
        static let result = Parts(rawValue: 32)
        static let status = Parts(rawValue: 64)
        static let error = Parts(rawValue: 128)

        static let items: Parts = [.index, .id, .version, .result, .status, .error]
        static let all: Parts = [.took, .errors, .items]
        static let brief: Parts = [.took, .errors, .status, .error]

        init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// Knows the paths that clients ask for; any other path selects all.
        init(filterPath: String?) {
            guard let filterPath, !filterPath.isEmpty else {
                self = .all
                return
            }
            self = []
            for path in filterPath.split(separator: ",") {
                formUnion(Parts(path: path.split(separator: ".", omittingEmptySubsequences: false)))
            }
        }

        private init(path: [Substring]) {
            switch (path.first, path.count) {
            case ("took", 1): self = .took
            case ("errors", 1): self = .errors
            case ("items", 1), ("items", 2): self = .items
            case ("items", 3...):
                switch path[2] {
                case "_index": self = .index
                case "_id": self = .id
                case "_version": self = .version
                case "result": self = .result
                case "status": self = .status
                case "error": self = .error
                default: self = .items
                }
            default: self = .all
            }
        }
    }
}

import HTTP
import Logs
import System

/// The answer to `_bulk`, with a part for each action in its order. Written into one piece of memory, since there may
/// be ten thousands, and before the logs are stored: the queue's thread has better things to do.
///
/// A small request must not become an enormous answer that waits for a client who does not read: beyond a number of
/// actions each is told by its status alone, and beyond a number of failures without the reason.
struct BulkAnswer {
    /// More than agents write at once by default, so that theirs are whole.
    static let wholeItemsMax = 10_000
    static let reasonsMax = 1000

    let items: BulkItems
    let indices: [ElasticIndex]
    let parts: Parts

    var body: [UInt8] {
        let isWhole = items.count <= Self.wholeItemsMax
        var text = BulkText(isWhole ? parts : parts.intersection(.brief))
        if parts.contains(.took) { text.member("took", "0") }
        if parts.contains(.errors) { text.member("errors", hasErrors ? "true" : "false") }
        text.items(items, indices)
        return text.finish()
    }

    private var hasErrors: Bool {
        items.items.contains { $0.outcome != .taken || indices[Int($0.index)].refusal != nil }
    }
}

extension BulkAnswer {
    /// What a client wants to be told.
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

        /// The paths that clients are known to ask for; who asks for another one gets all.
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

/// The text of an answer as it is written.
private struct BulkText {
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

    /// Elasticsearch leaves out what has nothing in it after filtering.
    mutating func items(_ items: BulkItems, _ indices: [ElasticIndex]) {
        guard !parts.isDisjoint(with: .items) else { return }
        let (start, names) = (bytes.count, indices.map { Array(jsonQuoted($0.name).utf8) })
        bytes.reserveCapacity(items.count * (parts == .all ? 112 : 32) + 64)
        member("items", "[")
        let (first, minted) = (bytes.count, hex(randomBytes(8)))
        for (number, item) in items.items.enumerated() {
            let place = Int(item.index)
            let refusal = refusal(of: item, items) ?? indices[place].refusal
            guard refusal != nil || parts.intersection(.items) != .error else { continue }
            if bytes.count > first { put(",") }
            put("{\"")
            put(item.operation.name)
            put("\":{")
            let inner = bytes.count
            if parts.contains(.index) {
                put("\"_index\":")
                bytes += names[place]
            }
            if parts.contains(.id) { id(of: item, items, inner) { "\(minted)-\(number)" } }
            if let refusal {
                failure(refusal, inner)
            } else {
                success(item, inner)
            }
            put("}}")
        }
        guard bytes.count > first else { return bytes.removeLast(first - start) }
        put("]")
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
            bytes += jsonQuoted(String(decoding: own, as: UTF8.self)).utf8
        }
    }

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
        var json = JSONText()
        json.object { $0.cause(refusal) }
        put("\"error\":")
        bytes += json.text.utf8
    }

    private func refusal(of item: BulkItems.Item, _ items: BulkItems) -> Refusal? {
        switch item.outcome {
        case .taken: nil
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

extension Refusal {
    fileprivate static let writtenOnce = Refusal(
        400,
        "ActionUnsupported",
        "logs are written once: only index and create are taken"
    )
}

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
        var json = JSONWriter()
        var fits = true
        json.object { json in
            if told.contains(.took) { json.member("took", 0) }
            if told.contains(.errors) { json.member("errors", hasErrors) }
            fits = writeItems(told, to: &json, atMost: bytesMax)
        }
        return fits ? json.bytes : nil
    }

    /// Elasticsearch omits items that are empty after filtering. Returns false when the text gets
    /// too long.
    private func writeItems(
        _ told: Parts,
        to json: inout JSONWriter,
        atMost bytesMax: Int
    ) -> Bool {
        let onlyFailures = told.intersection(.items) == .error
        guard !told.isDisjoint(with: .items), !onlyFailures || hasErrors else { return true }
        json.reserve(min(items.count * (told == .all ? 112 : 32) + 64, bytesMax))
        let (success, minted) = (told.success, hex(randomBytes(8)))
        var (fits, reasonsLeft) = (true, Self.reasonsMax)
        json.array("items") { json in
            for (number, item) in items.items.enumerated() {
                let refusal = refusal(of: item)
                guard refusal != nil || !onlyFailures else { continue }
                json.object { json in
                    json.object(item.operation.name) { json in
                        if told.contains(.index) { writeIndex(of: item, to: &json) }
                        if told.contains(.id) {
                            writeID(of: item, orElse: "\(minted)-\(number)", to: &json)
                        }
                        guard let refusal else {
                            return success.withUnsafeBytes { json.members(written: $0) }
                        }
                        if told.contains(.status) { json.member("status", refusal.status) }
                        guard told.contains(.error), reasonsLeft > 0 else { return }
                        reasonsLeft -= 1
                        json.object("error") { $0.cause(refusal) }
                    }
                }
                // With the end of the text.
                fits = json.bytes.count + 2 <= bytesMax
                guard fits else { return }
            }
        }
        return fits
    }

    private func writeIndex(of item: BulkItems.Item, to json: inout JSONWriter) {
        guard let part = item.part else {
            return items.name(of: item).withUnsafeBytes { json.member("_index", utf8: $0) }
        }
        json.member("_index", indices[part].name)
    }

    private func writeID(
        of item: BulkItems.Item,
        orElse minted: @autoclosure () -> String,
        to json: inout JSONWriter
    ) {
        let own = items.id(of: item)
        guard !own.isEmpty else { return json.member("_id", minted()) }
        own.withUnsafeBytes { json.member("_id", utf8: $0) }
    }

    private func refusal(of item: BulkItems.Item) -> Refusal? {
        switch item.outcome {
        case .taken: item.part.flatMap { indices[$0].refusal }
        case .crowded: .tooManyIndices
        case .unsupported: .writtenOnce
        case .unreadable(let number): .badBody(items.fault(number).description)
        }
    }

    var hasErrors: Bool {
        items.items.contains { item in
            item.outcome != .taken || item.part.map { indices[$0].refusal != nil } != false
        }
    }
}

extension BulkItems.Operation {
    fileprivate var name: String {
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

        /// What is told of a stored document.
        fileprivate var success: [UInt8] {
            let members: [(part: Parts, text: String)] = [
                (.version, #""_version":1"#), (.result, #""result":"created""#),
                (.status, #""status":201"#),
            ]
            let told = members.filter { contains($0.part) }.map(\.text)
            return Array(told.joined(separator: ",").utf8)
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

/// The actions of a body of Elasticsearch's `_bulk`, in order, as its answer lists them. Each is a
/// few numbers, since many are alike.
package struct BulkItems: Sendable, Equatable {
    package enum Operation: Sendable {
        case index, create, update, delete
    }

    package enum Outcome: Sendable, Equatable {
        /// The document is a log.
        case taken
        /// Its index is one too many.
        case crowded
        /// Logs are written once and stay as they are.
        case unsupported
        /// The document cannot be read. This is the number of its fault.
        case unreadable(Int32)
    }

    package struct Item: Sendable, Equatable {
        package let operation: Operation
        package let outcome: Outcome
        /// The number of the part of its index; nil when there was none left.
        package var part: Int? { index < 0 ? nil : Int(index) }
        fileprivate let index: Int32
        fileprivate let idStart: UInt32
        /// Names have 512 bytes at most.
        fileprivate let idCount: UInt16
        fileprivate let nameCount: UInt16
    }

    package private(set) var items: [Item] = []
    /// True when each log has a time of its own or an id, so that an equal log is the same log.
    package var areDistinct = true
    private var ids: [UInt8] = []
    private var faults: [LogDecodingError] = []

    package var count: Int { items.count }

    /// The name that the client gave its document; empty when it gave none.
    package func id(of item: Item) -> ArraySlice<UInt8> {
        ids[Int(item.idStart)..<Int(item.idStart) + Int(item.idCount)]
    }

    package func fault(_ number: Int32) -> LogDecodingError { faults[Int(number)] }

    /// The name of an index without a part.
    package func name(of item: Item) -> ArraySlice<UInt8> {
        let start = Int(item.idStart) + Int(item.idCount)
        return ids[start..<start + Int(item.nameCount)]
    }

    mutating func append(_ action: BulkAction, _ outcome: Outcome, at part: Int?) {
        items.append(
            Item(
                operation: action.operation,
                outcome: outcome,
                index: part.map { Int32($0) } ?? -1,
                idStart: UInt32(ids.count),
                idCount: UInt16(action.id.count),
                nameCount: part == nil ? UInt16(action.index.count) : 0
            )
        )
        ids += action.id
        if part == nil { ids += action.index }
    }

    mutating func append(_ action: BulkAction, _ fault: LogDecodingError, at part: Int?) {
        append(action, .unreadable(Int32(faults.count)), at: part)
        faults.append(fault)
    }
}

/// The name of an index.
struct BulkIndex: Hashable {
    let bytes: [UInt8]

    /// All bytes at once: an array hashes them one by one.
    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The logs of one `_bulk` request.
package struct BulkLogs: Sendable, Equatable {
    package struct Part: Sendable, Equatable {
        package let index: String
        package let logs: DecodedLogs
    }

    /// One for each index.
    package let parts: [Part]
    package let items: BulkItems
}

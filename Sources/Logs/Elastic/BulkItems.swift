/// What was asked for in a body of Elasticsearch's `_bulk`, one after the other: what an answer has to tell. Many are
/// alike, so each is a few numbers.
package struct BulkItems: Sendable, Equatable {
    package enum Operation: Sendable {
        case index, create, update, delete
    }

    package enum Outcome: Sendable, Equatable {
        /// A log.
        case taken
        /// Logs are written once, and stay as they are.
        case unsupported
        /// The document is none; where its fault is among them.
        case unreadable(Int32)
    }

    package struct Item: Sendable, Equatable {
        package let operation: Operation
        package let outcome: Outcome
        /// The place of its index among the parts.
        package let index: Int32
        fileprivate let idStart: UInt32
        fileprivate let idCount: UInt32
    }

    package private(set) var items: [Item] = []
    /// Whether each log has a time of its own or an id, so that an equal one is the same.
    package var areDistinct = true
    private var ids: [UInt8] = []
    private var faults: [LogDecodingError] = []

    package var count: Int { items.count }

    /// The name that the client gave its document; empty when it gave none.
    package func id(of item: Item) -> ArraySlice<UInt8> {
        ids[Int(item.idStart)..<Int(item.idStart) + Int(item.idCount)]
    }

    package func fault(_ number: Int32) -> LogDecodingError { faults[Int(number)] }

    mutating func append(_ action: BulkAction, _ outcome: Outcome, index: Int) {
        items.append(
            Item(
                operation: action.operation,
                outcome: outcome,
                index: Int32(index),
                idStart: UInt32(ids.count),
                idCount: UInt32(action.id.count)
            )
        )
        ids += action.id
    }

    mutating func append(_ action: BulkAction, _ fault: LogDecodingError, index: Int) {
        append(action, .unreadable(Int32(faults.count)), index: index)
        faults.append(fault)
    }
}

/// A line that says what is to be done with the next one.
struct BulkAction {
    var operation = BulkItems.Operation.index
    /// Kept from action to action, as their memory is.
    var index: [UInt8] = []
    var id: [UInt8] = []
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

/// Why a body is refused as a whole.
package struct BulkFault: Error, Equatable, Sendable {
    /// Whether the body is well, and only too much.
    package let isTooMuch: Bool
    package let cause: LogDecodingError
}

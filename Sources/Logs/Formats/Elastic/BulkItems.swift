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

package struct BulkLogs: Sendable, Equatable {
    package struct Part: Sendable, Equatable {
        package let index: String
        package let logs: DecodedLogs
    }

    /// One for each index.
    package let parts: [Part]
    package let items: BulkItems
}

enum BulkMistake: FormatMistake {
    case actionExpected, objectExpected, oneActionExpected, lineEndExpected
    case nameExpected, nameTooLong

    var sentence: String {
        switch self {
        case .actionExpected:
            "an object with one of index, create, update and delete is expected here"
        case .objectExpected: "what is known of the document must be an object"
        case .oneActionExpected: "a line has one action"
        case .lineEndExpected: "the line must end here"
        case .nameExpected: "_index and _id must be text"
        case .nameTooLong: "_index and _id must not exceed \(BulkAction.nameBytesMax) bytes"
        }
    }
}

/// A line that says what to do with the next one: `{"index":{"_index":"app","_id":"7"}}`. Other
/// members that Elasticsearch allows (a pipeline, a routing) mean nothing here.
struct BulkAction {
    /// Elasticsearch's own limit for ids.
    static let nameBytesMax = 512

    private(set) var operation = BulkItems.Operation.index
    // The names keep their memory from line to line.
    private(set) var index: [UInt8] = []
    private(set) var id: [UInt8] = []

    /// Takes the index of the request if the line names none. False when neither does.
    mutating func complete(with index: [UInt8]) -> Bool {
        if self.index.isEmpty { self.index += index }
        return !self.index.isEmpty
    }

    mutating func read(_ json: inout JSONLogReader) throws(JSONFault) {
        index.removeAll(keepingCapacity: true)
        id.removeAll(keepingCapacity: true)
        let start = json.cursor.position
        guard json.cursor.byte == UInt8(ascii: "{"), try json.cursor.enterObject() else {
            throw BulkMistake.actionExpected.at(start)
        }
        let position = json.cursor.position
        switch try json.memberName() {
        case "index": operation = .index
        case "create": operation = .create
        case "update": operation = .update
        case "delete": operation = .delete
        default: throw BulkMistake.actionExpected.at(position)
        }
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw BulkMistake.objectExpected.at(json.cursor.position)
        }
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "_index": try Self.read(&json, to: &index)
            case "_id": try Self.read(&json, to: &id)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard try !json.cursor.nextMember() else {
            throw BulkMistake.oneActionExpected.at(json.cursor.position)
        }
        try json.expectLineEnd()
    }

    private static func read(
        _ json: inout JSONLogReader,
        to name: inout [UInt8]
    ) throws(JSONFault) {
        let start = json.cursor.position
        let (text, kind) = try json.value(depth: 1)
        guard kind == .string || kind == .number || kind == .null else {
            throw BulkMistake.nameExpected.at(start)
        }
        guard text.count <= nameBytesMax else { throw BulkMistake.nameTooLong.at(start) }
        name.removeAll(keepingCapacity: true)
        name.append(contentsOf: text)
    }
}

extension JSONLogReader {
    /// Reads a line with one object as one log, with the field `_id` in front if there is an id.
    mutating func bulkDocument(id: [UInt8]) throws(JSONFault) {
        try elasticDocument(id: id)
        try expectLineEnd()
    }

    /// Reads one object as one log.
    mutating func elasticDocument(id: [UInt8]) throws(JSONFault) {
        guard cursor.byte == UInt8(ascii: "{") else { throw cursor.fault(.logExpected) }
        let start = cursor.next
        writer.startLog()
        if !id.isEmpty { writer.field(name: "_id", value: id) }
        if try cursor.enterObject() { try fields(depth: 1) }
        try endLog(of: start)
    }

    fileprivate func expectLineEnd() throws(JSONFault) {
        guard !cursor.hasToken() else { throw BulkMistake.lineEndExpected.at(cursor.position) }
    }
}

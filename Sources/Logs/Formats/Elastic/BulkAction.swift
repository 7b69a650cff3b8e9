/// Why a line is none of Elasticsearch's `_bulk`.
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

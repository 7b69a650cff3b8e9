extension JSONLogWalk {
    /// An action and what is known of its document: `{"index":{"_index":"app","_id":"7"}}`. What else Elasticsearch lets
    /// it have (a pipeline, a routing) means nothing here.
    mutating func bulkAction(_ action: inout BulkAction) throws(JSONFault) {
        action.index.removeAll(keepingCapacity: true)
        action.id.removeAll(keepingCapacity: true)
        guard byte == UInt8(ascii: "{") else { throw fault(.bulk(.actionExpected)) }
        let start = Int(tokens[next])
        guard try enterObject() else { throw JSONFault(.bulk(.actionExpected), at: start) }
        let token = Int(tokens[next])
        switch try memberName() {
        case "index": action.operation = .index
        case "create": action.operation = .create
        case "update": action.operation = .update
        case "delete": action.operation = .delete
        default: throw JSONFault(.bulk(.actionExpected), at: token)
        }
        guard byte == UInt8(ascii: "{") else { throw fault(.bulk(.objectExpected)) }
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "_index": try bulkName(&action.index)
            case "_id": try bulkName(&action.id)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard try !nextMember() else { throw fault(.bulk(.oneActionExpected)) }
        guard next == tokenCount else { throw fault(.bulk(.lineEndExpected)) }
    }

    private mutating func bulkName(_ name: inout [UInt8]) throws(JSONFault) {
        let start = Int(tokens[next])
        makeRoom(from: start)
        let (count, kind) = try value(to: writer.length, depth: 1)
        guard kind == .string || kind == .number || kind == .null else {
            throw JSONFault(.bulk(.nameExpected), at: start)
        }
        guard count <= BulkMistake.nameBytesMax else {
            throw JSONFault(.bulk(.nameTooLong), at: start)
        }
        name.removeAll(keepingCapacity: true)
        let written = UnsafePointer(writer.memory.start + writer.length)
        name.append(contentsOf: UnsafeBufferPointer(start: written, count: count))
    }

    /// A line with one object as one log.
    mutating func bulkDocument(id: [UInt8]) throws(JSONFault) {
        try document(id: id)
        guard next == tokenCount else { throw fault(.bulk(.lineEndExpected)) }
    }

    /// One object as one log.
    mutating func document(id: [UInt8]) throws(JSONFault) {
        guard byte == UInt8(ascii: "{") else { throw fault(.logExpected) }
        let start = next
        writer.startLog()
        if !id.isEmpty { writer.field(name: "_id", value: id) }
        if try enterObject() { try fields(depth: 1) }
        writer.endLog()
        try checkFields(of: start)
    }
}

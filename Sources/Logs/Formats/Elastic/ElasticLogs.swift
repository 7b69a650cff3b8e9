// Elasticsearch's `_bulk` and its single documents.
extension JSONLogDecoder {
    /// The most actions of one request: an answer has a line for each.
    package static let bulkItemsMax = 1 << 16

    private static let documentOptions = JSONLogOptions(
        takesShortTimes: true,
        timeField: TimeField("@timestamp")
    )

    /// Reads a body of `_bulk`: lines of JSON, where one line says what to do and the next one is
    /// the document. Each document is a log. `index` is the one for actions that name none.
    ///
    /// Each line is read by itself, so a document that is no JSON, or one of an index too many,
    /// costs no other document. `@timestamp` gives a log's time, `_id` is a field of it.
    package func decodeBulk(
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        index: String? = nil
    ) throws(LogDecodingError) -> BulkLogs {
        let text = UnsafeBufferPointer(
            start: bytes.bindMemory(to: UInt8.self).baseAddress,
            count: bytes.count
        )
        let body = JSONBody(bytes, timing, rules, Self.documentOptions)
        var bulk = BulkReading(text, index, reader.limits)
        reader.startBody(body)
        defer { shrink(after: bytes.count) }
        while let line = bulk.nextLine() {
            do throws(JSONFault) {
                let isAction = try read(line, of: body) { json throws(JSONFault) in
                    try bulk.action.read(&json)
                }
                guard isAction else { continue }
            } catch {
                throw bulk.malformed(line, error)
            }
            try readDocument(&bulk, after: line, of: body)
        }
        return try bulk.logs()
    }

    /// Reads one document of Elasticsearch, on any number of lines, as one log; `id` is a field of
    /// it.
    package func decodeDocument(
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        id: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        try decode(JSONBody(bytes, timing, rules, Self.documentOptions)) { json throws(JSONFault) in
            try json.elasticDocument(id: id.map { Array($0.utf8) } ?? [])
            try json.cursor.expectEnd()
            return json.writer.logs
        }
    }

    /// Reads the document of the action that was read, if it has one, and notes the outcome.
    private func readDocument(
        _ bulk: inout BulkReading,
        after line: BulkLine,
        of body: JSONBody
    ) throws(LogDecodingError) {
        let part = try bulk.part(at: line)
        if bulk.action.operation == .delete { return bulk.append(.unsupported, at: part) }
        guard let document = bulk.nextLineAsIs() else { throw bulk.missingDocument(line) }
        if bulk.action.operation == .update { return bulk.append(.unsupported, at: part) }
        guard let part else { return bulk.append(.crowded, at: nil) }
        guard !reader.writer.isFull else { throw bulk.tooManyLogs(document) }
        do throws(JSONFault) {
            let id = bulk.action.id
            let isDocument = try read(document, of: body) { json throws(JSONFault) in
                try json.bulkDocument(id: id)
            }
            guard isDocument else { throw JSONFault(.logExpected, at: 0) }
            bulk.take(from: &reader.writer, at: part)
        } catch {
            reader.writer.discard()
            let fault = error.moved(by: document.start)
            // Nothing is wrong with the document: all of them can come again.
            guard fault.kind != .noMemory else { throw fault }
            bulk.append(fault, at: part)
        }
    }

    /// Reads a line, and once more with its damaged bytes replaced if that fails. False when the
    /// line is blank.
    private func read(
        _ line: BulkLine,
        of body: JSONBody,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Void
    ) throws(JSONFault) -> Bool {
        guard line.count > 0 else { return false }
        let text = UnsafeBufferPointer(start: line.text, count: line.count)
        do throws(JSONFault) {
            try reader.start(text)
            try take(&reader)
        } catch {
            if case .empty = error.reason { return false }
            guard body.allowsRepair(of: error), let copy = try repaired(text) else { throw error }
            reader.writer.discard()
            reader.writer.isRepaired = repair.replacedBytes
            defer { reader.writer.isRepaired = false }
            do throws(JSONFault) {
                try reader.start(copy)
                try take(&reader)
            } catch {
                if case .empty = error.reason { return false }
                throw JSONFault(error.reason, at: repair.source(of: error.position, in: text))
            }
        }
        return true
    }
}

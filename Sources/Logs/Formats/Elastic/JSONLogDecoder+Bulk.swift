extension JSONLogDecoder {
    /// The most actions of one request: an answer has a line for each.
    package static let bulkItemsMax = 1 << 16

    /// Reads a body of Elasticsearch's `_bulk`: lines of JSON, of which one says what to do and the next is the document.
    /// Each document is a log. `index` is the one for those that name none.
    ///
    /// Each line is looked at by itself, so that a document which is no JSON costs none of the others, and neither does
    /// one of an index too many. `@timestamp` gives a log's time, `_id` is a field of it. The body must have 64 readable
    /// bytes after its end.
    package func decodeBulk(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        index: String? = nil
    ) throws(LogDecodingError) -> BulkLogs {
        let text = UnsafeBufferPointer(
            start: body.bindMemory(to: UInt8.self).baseAddress,
            count: body.count
        )
        var reading = BulkReading(text, index, walk.limits)
        walk.writer.start(timing, rules)
        walk.lenientTimes = true
        walk.timeField = TimeField("@timestamp")
        walk.takesShortTimes = true
        defer {
            walk.timeField = .none
            walk.takesShortTimes = false
            shrink(after: body.count)
        }
        while true {
            reading.skipBlankLines()
            guard let line = reading.next() else { break }
            do throws(JSONFault) {
                let isAction = try read(line, rules) { walk throws(JSONFault) in
                    try walk.bulkAction(&reading.action)
                }
                guard isAction else { continue }
            } catch {
                throw reading.malformed(line, error)
            }
            let place = try reading.place(at: line)
            if reading.action.operation == .delete {
                reading.items.append(reading.action, .unsupported, at: place)
                continue
            }
            guard let document = reading.next() else { throw reading.missingDocument(line) }
            if reading.action.operation == .update {
                reading.items.append(reading.action, .unsupported, at: place)
                continue
            }
            guard let place else {
                reading.items.append(reading.action, .crowded, at: nil)
                continue
            }
            guard !walk.writer.isFull else { throw reading.tooManyLogs(document) }
            do throws(JSONFault) {
                let id = reading.action.id
                let isDocument = try read(document, rules) { walk throws(JSONFault) in
                    try walk.bulkDocument(id: id)
                }
                guard isDocument else { throw JSONFault(.logExpected, at: 0) }
                if !walk.writer.hasOwnTime, reading.action.id.isEmpty {
                    reading.items.areDistinct = false
                }
                reading.parted.take(from: &walk.writer, at: place)
                reading.items.append(reading.action, .taken, at: place)
            } catch {
                walk.writer.discard()
                // That is nothing against the document: all of them can come again.
                guard error.reason != .noMemory else { throw error.moved(by: document.start) }
                reading.items.append(
                    reading.action,
                    error.moved(by: document.start),
                    at: place
                )
            }
        }
        return try reading.logs()
    }

    /// Reads one document of Elasticsearch, on as many lines as it likes, as one log; `id` is a field of it. The body
    /// must have 64 readable bytes after its end.
    package func decodeDocument(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        id: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        try decode(body, timing, rules, lenientTimes: true) { walk throws(JSONFault) in
            walk.timeField = TimeField("@timestamp")
            walk.takesShortTimes = true
            defer {
                walk.timeField = .none
                walk.takesShortTimes = false
            }
            try walk.document(id: id.map { Array($0.utf8) } ?? [])
            guard walk.next == walk.tokenCount else { throw walk.fault(.textFollows) }
            return walk.writer.logs
        }
    }

    /// Reads a line with `take`, and once more with its damaged bytes replaced where it cannot be read; false when there
    /// is nothing on it.
    private func read(
        _ line: BulkLine,
        _ rules: LogRules,
        _ take: (inout JSONLogWalk) throws(JSONFault) -> Void
    ) throws(JSONFault) -> Bool {
        guard line.count > 0 else { return false }
        let text = UnsafeBufferPointer(start: line.text, count: line.count)
        do throws(JSONFault) {
            try start(text)
            try take(&walk)
        } catch {
            guard error.reason != .empty else { return false }
            guard rules.damage == .setAside, !error.reason.isOfRequest,
                let copy = try repaired(text)
            else { throw error }
            walk.writer.discard()
            walk.writer.isRepaired = repair.replacedBytes
            defer { walk.writer.isRepaired = false }
            do throws(JSONFault) {
                try start(copy)
                try take(&walk)
            } catch {
                guard error.reason != .empty else { return false }
                throw JSONFault(error.reason, at: repair.source(of: error.position, in: text))
            }
        }
        return true
    }
}

extension LogWriter {
    /// Takes back a log that was begun, when all logs before it were moved.
    fileprivate mutating func discard() {
        length = 0
        logCount = 0
        excluded = DecodedLogs()
        remarks.clear()
    }
}

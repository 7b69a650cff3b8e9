import Glibc

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
        _ body: LogBody,
        index: String? = nil
    ) throws(LogDecodingError) -> BulkLogs {
        let text = UnsafeBufferPointer(
            start: body.bytes.bindMemory(to: UInt8.self).baseAddress,
            count: body.bytes.count
        )
        let body = body.with(Self.documentOptions)
        var bulk = BulkReading(text, index, reader.limits)
        reader.startBody(body)
        defer { shrink(after: body.bytes.count) }
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
        _ body: LogBody,
        id: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        try decode(body.with(Self.documentOptions)) { json throws(JSONFault) in
            try json.elasticDocument(id: id.map { Array($0.utf8) } ?? [])
            try json.cursor.expectEnd()
            return json.writer.logs
        }
    }

    /// Reads the document of the action that was read, if it has one, and notes the outcome.
    private func readDocument(
        _ bulk: inout BulkReading,
        after line: BulkLine,
        of body: LogBody
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

    /// Reads a line, if need be with its damaged bytes replaced. False when the line is blank.
    private func read(
        _ line: BulkLine,
        of body: LogBody,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Void
    ) throws(JSONFault) -> Bool {
        let text = line.text
        guard !text.isEmpty else { return false }
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

/// A line of a body, without its end.
struct BulkLine {
    let text: UnsafeBufferPointer<UInt8>
    /// Where it starts in the body, and which one it is, from 1.
    let start: Int
    let number: Int
}

/// Cuts a body of `_bulk` into lines, and gathers what its actions came to.
struct BulkReading {
    var action = BulkAction()
    private var items = BulkItems()
    private var parted: PartedLogs<ByteKey>

    private let body: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var line = 0
    private let index: [UInt8]
    private let logsMax: Int

    init(_ body: UnsafeBufferPointer<UInt8>, _ index: String?, _ limits: LogLimits) {
        self.body = body
        self.index = index.map { Array($0.utf8) } ?? []
        parted = PartedLogs(atMost: limits.packages)
        logsMax = limits.logs
    }

    /// The next line that is not blank. A body may have millions of blank ones.
    mutating func nextLine() -> BulkLine? {
        var next = position
        while next < body.count {
            switch body[next] {
            case UInt8(ascii: "\n"):
                next += 1
                position = next
                line += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): next += 1
            default: return nextLineAsIs()
            }
        }
        position = next
        return nil
    }

    /// The next line, which may be blank.
    mutating func nextLineAsIs() -> BulkLine? {
        guard let start = body.baseAddress, position < body.count else { return nil }
        let first = position
        let feed = memchr(start + first, CInt(UInt8(ascii: "\n")), body.count - first)
        let end = feed.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? body.count
        position = end + 1
        line += 1
        let text = UnsafeBufferPointer(start: start + first, count: end - first)
        return BulkLine(text: text, start: first, number: line)
    }

    /// The part of the action's index; nil when there is none left for it.
    mutating func part(at line: BulkLine) throws(LogDecodingError) -> Int? {
        guard action.complete(with: index) else {
            throw fault(line, "the action on line \(line.number) names no index")
        }
        guard items.count < JSONLogDecoder.bulkItemsMax else {
            let most = JSONLogDecoder.bulkItemsMax
            throw fault(
                line,
                "the body has more than \(most) actions; send smaller batches",
                .tooLarge
            )
        }
        return parted.index(of: ByteKey(bytes: action.index))
    }

    mutating func append(_ outcome: BulkItems.Outcome, at part: Int?) {
        items.append(action, outcome, at: part)
    }

    mutating func append(_ fault: LogDecodingError, at part: Int) {
        items.append(action, fault, at: part)
    }

    /// Takes the written log as the action's document.
    mutating func take(from writer: inout LogWriter, at part: Int) {
        if !writer.log.hasOwnTime, action.id.isEmpty { items.areDistinct = false }
        parted.take(from: &writer, at: part)
        append(.taken, at: part)
    }

    func malformed(_ line: BulkLine, _ error: JSONFault) -> LogDecodingError {
        let cause = error.moved(by: line.start)
        guard cause.kind != .noMemory else { return cause }
        let reason = "Malformed action/metadata line [\(line.number)]: \(cause.reason)"
        return LogDecodingError(position: cause.position, reason: reason)
    }

    func missingDocument(_ line: BulkLine) -> LogDecodingError {
        fault(line, "no document follows the action on line \(line.number)")
    }

    func tooManyLogs(_ line: BulkLine) -> LogDecodingError {
        fault(line, LogLimits.tooManyLogs(logsMax), .tooLarge)
    }

    private func fault(
        _ line: BulkLine,
        _ reason: String,
        _ kind: LogDecodingError.Kind = .unreadable
    ) -> LogDecodingError {
        LogDecodingError(position: line.start, reason: reason, kind: kind)
    }

    func logs() throws(LogDecodingError) -> BulkLogs {
        guard items.count > 0 else {
            throw LogDecodingError(position: 0, reason: "the body has no action")
        }
        return BulkLogs(
            parts: parted.parts.map {
                .init(index: String(decoding: $0.key.bytes, as: UTF8.self), logs: $0.logs)
            },
            items: items
        )
    }
}

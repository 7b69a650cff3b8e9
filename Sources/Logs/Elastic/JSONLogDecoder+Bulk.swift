import Glibc

extension JSONLogDecoder {
    /// The most actions of one request: an answer has a line for each.
    package static let bulkItemsMax = 1 << 16

    /// Reads a body of Elasticsearch's `_bulk`: lines of JSON, of which one says what to do and the next is the document.
    /// Each document is a log. `index` is the one for those that name none.
    ///
    /// Each line is looked at by itself, so that a document which is no JSON costs none of the others. `@timestamp` gives
    /// a log's time, `_id` is a field of it. The body must have 64 readable bytes after its end.
    package func decodeBulk(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        index: String? = nil
    ) throws(BulkFault) -> BulkLogs {
        let text = UnsafeBufferPointer(
            start: body.bindMemory(to: UInt8.self).baseAddress,
            count: body.count
        )
        var reading = BulkReading(text, index, walk.limits)
        walk.writer.start(timing, rules)
        walk.lenientTimes = true
        walk.timeField = TimeField("@timestamp")
        defer {
            walk.timeField = .none
            shrink(after: body.count)
        }
        while let line = reading.next() {
            do throws(JSONFault) {
                guard try read(line) else { continue }
                try walk.bulkAction(&reading.action)
            } catch {
                throw reading.malformed(line, error)
            }
            let place = try reading.place(at: line)
            if reading.action.operation == .delete {
                reading.items.append(reading.action, .unsupported, index: place)
                continue
            }
            guard let document = reading.next() else { throw reading.missingDocument(line) }
            if reading.action.operation == .update {
                reading.items.append(reading.action, .unsupported, index: place)
                continue
            }
            guard !walk.writer.isFull else { throw reading.tooManyLogs(document) }
            do throws(JSONFault) {
                guard try read(document) else { throw JSONFault(.logExpected, at: 0) }
                try walk.bulkDocument(id: reading.action.id)
                reading.parted.take(from: &walk.writer, at: place)
                reading.items.append(reading.action, .taken, index: place)
            } catch {
                walk.writer.discard()
                reading.items.append(
                    reading.action,
                    error.moved(by: document.start),
                    index: place
                )
            }
        }
        return try reading.logs()
    }

    /// Makes the walk stand at the beginning of a line; false when there is nothing on it.
    private func read(_ line: BulkLine) throws(JSONFault) -> Bool {
        guard line.count > 0 else { return false }
        do throws(JSONFault) {
            let tokens = try index.tokens(of: line.text, count: line.count)
            walk.start(line.text, count: line.count, tokens)
            return true
        } catch {
            guard error.reason == .empty else { throw error }
            return false
        }
    }
}

extension JSONFault {
    /// As it is told, from the start of the body.
    fileprivate func moved(by start: Int) -> LogDecodingError {
        LogDecodingError(position: position + start, reason: reason.sentence)
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

/// A line of a body, without its end.
struct BulkLine {
    let text: UnsafePointer<UInt8>
    let count: Int
    /// Where it starts in the body, and which one it is, from 1.
    let start: Int
    let number: Int
}

/// How far a body was read, and what was found.
private struct BulkReading {
    var action = BulkAction()
    var items = BulkItems()
    var parted: PartedLogs<BulkIndex>

    private let body: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var line = 0
    private let index: [UInt8]
    private let indicesMax: Int
    private let logsMax: Int

    init(_ body: UnsafeBufferPointer<UInt8>, _ index: String?, _ limits: LogLimits) {
        self.body = body
        self.index = index.map { Array($0.utf8) } ?? []
        parted = PartedLogs(atMost: limits.packages)
        indicesMax = limits.packages
        logsMax = limits.logs
    }

    mutating func next() -> BulkLine? {
        guard let start = body.baseAddress, position < body.count else { return nil }
        let first = position
        let feed = memchr(start + first, CInt(UInt8(ascii: "\n")), body.count - first)
        let end = feed.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? body.count
        position = end + 1
        line += 1
        return BulkLine(text: start + first, count: end - first, start: first, number: line)
    }

    /// The place of the action's index.
    mutating func place(at line: BulkLine) throws(BulkFault) -> Int {
        if action.index.isEmpty { action.index += index }
        guard !action.index.isEmpty else {
            throw fault(line, "the action on line \(line.number) names no index")
        }
        guard items.count < JSONLogDecoder.bulkItemsMax else {
            let most = JSONLogDecoder.bulkItemsMax
            throw fault(line, "the body has more than \(most) actions; send smaller batches", true)
        }
        guard let place = parted.place(of: BulkIndex(bytes: action.index)) else {
            throw fault(
                line,
                "the body names more than \(indicesMax) indices; send smaller batches",
                true
            )
        }
        return place
    }

    func malformed(_ line: BulkLine, _ error: JSONFault) -> BulkFault {
        let cause = error.moved(by: line.start)
        let reason = "Malformed action/metadata line [\(line.number)]: \(cause.reason)"
        return BulkFault(
            isTooMuch: false,
            cause: LogDecodingError(position: cause.position, reason: reason)
        )
    }

    func missingDocument(_ line: BulkLine) -> BulkFault {
        fault(line, "no document follows the action on line \(line.number)")
    }

    func tooManyLogs(_ line: BulkLine) -> BulkFault {
        fault(line, JSONFault.Reason.tooManyLogs(logsMax).sentence, true)
    }

    private func fault(_ line: BulkLine, _ reason: String, _ isTooMuch: Bool = false) -> BulkFault {
        BulkFault(
            isTooMuch: isTooMuch,
            cause: LogDecodingError(position: line.start, reason: reason)
        )
    }

    func logs() throws(BulkFault) -> BulkLogs {
        guard items.count > 0 else {
            let cause = LogDecodingError(position: 0, reason: "the body has no action")
            throw BulkFault(isTooMuch: false, cause: cause)
        }
        return BulkLogs(
            parts: parted.parts.map {
                .init(index: String(decoding: $0.key.bytes, as: UTF8.self), logs: $0.logs)
            },
            items: items
        )
    }
}

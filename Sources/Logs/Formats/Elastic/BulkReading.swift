import Glibc

/// A line of a body, without its end.
struct BulkLine {
    let text: UnsafePointer<UInt8>
    let count: Int
    /// Where it starts in the body, and which one it is, from 1.
    let start: Int
    let number: Int
}

/// Cuts a body of `_bulk` into lines, and gathers what its actions came to.
struct BulkReading {
    var action = BulkAction()
    private var items = BulkItems()
    private var parted: PartedLogs<BulkIndex>

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
        return BulkLine(text: start + first, count: end - first, start: first, number: line)
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
        return parted.index(of: BulkIndex(bytes: action.index))
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

extension JSONFault {
    /// The fault as the client is told it, from the start of the body.
    func moved(by start: Int) -> LogDecodingError {
        LogDecodingError(position: position + start, reason: reason.sentence, kind: reason.kind)
    }
}

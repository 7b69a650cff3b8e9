// Web tracking, and PutLogs as JSON, which looks alike.
extension JSONLogDecoder {
    /// Reads one object with `__logs__`, and perhaps `__topic__`, `__source__` and `__tags__`.
    ///
    /// SLS itself ignores `__time__` here. A readable one is used; another one is kept as the field
    /// `__original_time__`, because the clients that send it were never told of a mistake.
    ///
    /// In PutLogs as JSON, `__time_ns_part__` completes `__time__` with nanoseconds, which
    /// `timeParts` asks for; one that is no such number stays a field.
    package func decodeTracking(
        _ body: LogBody,
        timeParts: Bool = false
    ) throws(LogDecodingError) -> TrackedLogs {
        let body = body.with(JSONLogOptions(takesTimeParts: timeParts))
        return try reading(body.bytes) { text, offset throws(JSONFault) in
            do throws(JSONFault) {
                return try readTracking(text, of: body)
            } catch {
                guard body.allowsRepair(of: error) else { throw error }
                return try readDamaged(text, of: body, at: offset, after: error)
            }
        }
    }

    private func readTracking(
        _ text: UnsafeBufferPointer<UInt8>,
        of body: LogBody,
        isRepaired: Bool = false
    ) throws(JSONFault) -> TrackedLogs {
        try read(text, of: body, isRepaired: isRepaired) { json throws(JSONFault) in
            var reader = TrackingReader()
            return try reader.body(&json)
        }
    }

    /// Reads an object that could not be read as it is, for `first`. Elements that are still no log
    /// when damaged bytes are replaced are set aside. So is the last, unfinished element of an
    /// object that was cut off.
    private func readDamaged(
        _ text: UnsafeBufferPointer<UInt8>,
        of body: LogBody,
        at offset: Int,
        after first: JSONFault
    ) throws(JSONFault) -> TrackedLogs {
        let copy = try repaired(text)
        let isRepaired = copy != nil && repair.replacedBytes
        var body = body
        body.options.damaged = copy == nil ? .setAside : .note
        func asSent(_ fault: JSONFault) -> JSONFault {
            guard copy != nil else { return fault }
            return JSONFault(fault.reason, at: repair.source(of: fault.position, in: text))
        }
        var tracked: TrackedLogs
        // The text behind an array that was cut off.
        var unfinished: (text: UnsafeBufferPointer<UInt8>, fault: JSONFault)?
        do throws(JSONFault) {
            tracked = try readTracking(copy ?? text, of: body, isRepaired: isRepaired)
        } catch {
            if !error.reason.concernsRequest, let cut = JSONCut(copy ?? text, array: "__logs__") {
                let rest = copy == nil ? cut.rest : repair.source(of: cut.rest, in: text)
                unfinished = (UnsafeBufferPointer(rebasing: text[rest...]), error)
                // A text without damage was copied, too.
                repair.end(at: cut.end, with: "]}")
                do throws(JSONFault) {
                    tracked = try readTracking(repair.copy, of: body, isRepaired: isRepaired)
                } catch {
                    throw error.reason.concernsRequest ? asSent(error) : first
                }
            } else if copy != nil {
                throw asSent(error)
            } else {
                throw error.reason.concernsRequest ? error : first
            }
        }
        do throws(JSONFault) {
            try setAsideNoted(of: text)
            if let unfinished, !unfinished.text.isEmpty {
                try reader.setAside(unfinished.text, unfinished.fault)
            }
        } catch {
            throw asSent(error)
        }
        guard reader.hasReadable else { throw first }
        tracked.logs = reader.writer.logs
        tracked.logs.changePositions { positions in
            let sources = copy == nil ? positions : repair.sources(of: positions, in: text)
            return sources.map { $0 + offset }
        }
        return tracked
    }

    /// Sets aside the elements that were noted in the repaired copy, as they were sent.
    private func setAsideNoted(of text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        let noted = reader.unreadable.noted
        guard !noted.isEmpty else { return }
        let bounds = noted.flatMap { [$0.range.lowerBound, $0.range.upperBound] }
        let sent = repair.sources(of: bounds, in: text)
        for (index, element) in noted.enumerated() {
            let range = sent[2 * index]..<sent[2 * index + 1]
            try reader.setAside(UnsafeBufferPointer(rebasing: text[range]), element.fault)
        }
    }
}

enum TrackingMistake: FormatMistake {
    case objectExpected
    case logsMissing, logsNotArray, logsRepeated
    case topicTooLong(Int), sourceTooLong(Int)
    case tagsNotObject, tagsRepeated

    var sentence: String {
        switch self {
        case .objectExpected: "the body must be one object with __logs__"
        case .logsMissing: "the object has no __logs__"
        case .logsNotArray: "__logs__ must be an array of objects"
        case .logsRepeated: "__logs__ may occur only once"
        case .topicTooLong(let limit): "__topic__ must not exceed \(limit) bytes"
        case .sourceTooLong(let limit): "__source__ must not exceed \(limit) bytes"
        case .tagsNotObject: "__tags__ must be an object"
        case .tagsRepeated: "__tags__ may occur only once"
        }
    }
}

/// Reads the body of SLS web tracking: one object, its members in any order, unknown ones ignored.
struct TrackingReader {
    private var tracked = TrackedLogs()
    private var hasLogs = false
    private var hasTags = false

    mutating func body(_ json: inout JSONLogReader) throws(JSONFault) -> TrackedLogs {
        guard json.cursor.hasToken(), json.cursor.byte == UInt8(ascii: "{") else {
            throw TrackingMistake.objectExpected.at(json.cursor.position)
        }
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "__logs__": try logs(&json)
            case "__topic__":
                let limit = json.limits.topicBytes
                tracked.topic = try text(&json, upTo: limit, else: .topicTooLong(limit))
            case "__source__":
                let limit = json.limits.sourceBytes
                tracked.source = try text(&json, upTo: limit, else: .sourceTooLong(limit))
            case "__tags__": try tags(&json)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard hasLogs else { throw TrackingMistake.logsMissing.at(0) }
        try json.cursor.expectEnd()
        tracked.logs = json.writer.logs
        return tracked
    }

    private mutating func logs(_ json: inout JSONLogReader) throws(JSONFault) {
        let position = json.cursor.position
        guard !hasLogs else { throw TrackingMistake.logsRepeated.at(position) }
        guard json.cursor.byte == UInt8(ascii: "[") else {
            throw TrackingMistake.logsNotArray.at(position)
        }
        hasLogs = true
        try json.logArray(depth: 2)
    }

    /// The next value as text; nil for null.
    private func text(
        _ json: inout JSONLogReader,
        upTo limit: Int,
        else mistake: TrackingMistake
    ) throws(JSONFault) -> String? {
        let position = json.cursor.position
        let (text, kind) = try json.value(depth: 1)
        guard kind != .null else { return nil }
        guard text.count <= limit else { throw mistake.at(position) }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func tags(_ json: inout JSONLogReader) throws(JSONFault) {
        guard !hasTags else { throw TrackingMistake.tagsRepeated.at(json.cursor.position) }
        hasTags = true
        if try json.cursor.takeNull() { return }
        guard json.cursor.byte == UInt8(ascii: "{") else {
            throw TrackingMistake.tagsNotObject.at(json.cursor.position)
        }
        var tags = GatheredTags()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            let tag = try json.member(depth: 2)
            tags.add(tag.name, tag.value, json.limits)
            hasMember = try json.cursor.nextMember()
        }
        tracked.tags = tags.tags
    }
}

/// Where an object that was cut off inside its array of logs can be ended, so that the logs before
/// are read.
///
/// Only quotes, brackets and commas are looked at. A string that lost its quote reaches to the next
/// one, so what lies behind it may look cut off, too.
struct JSONCut {
    /// Behind the array's last whole element.
    let end: Int
    /// Where the element starts that has no end; the text's length without one.
    let rest: Int

    /// Nil when the object has no such array, or the array has its end, or not one whole element.
    init?(_ text: UnsafeBufferPointer<UInt8>, array name: StaticString) {
        var (position, depth) = (0, 0)
        var isInArray = false
        var lastString = 0..<0
        var (wholeEnd, element): (Int?, Int?) = (nil, nil)
        while position < text.count {
            let byte = text[position]
            if isInArray, depth == 2, byte > 0x20, byte != UInt8(ascii: ","), element == nil {
                element = position
            }
            switch byte {
            case UInt8(ascii: "\""):
                let start = position + 1
                position = Self.endOfString(text, start)
                lastString = start..<position
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 1, byte == UInt8(ascii: "["), !isInArray {
                    isInArray = name ~= UnsafeBufferPointer(rebasing: text[lastString])
                }
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                guard depth > 0, !isInArray || depth > 1 else { return nil }
                if isInArray, depth == 2 { (wholeEnd, element) = (position + 1, nil) }
            case UInt8(ascii: ",") where isInArray && depth == 2:
                if element != nil { (wholeEnd, element) = (position, nil) }
            default: break
            }
            position += 1
        }
        guard let wholeEnd else { return nil }
        (end, rest) = (wholeEnd, element ?? text.count)
    }

    /// The position of its last quote, or the text's length.
    private static func endOfString(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var position = start
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position, text.count)
    }
}

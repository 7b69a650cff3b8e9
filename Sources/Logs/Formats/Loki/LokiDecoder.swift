/// Reads pushes of Loki as protobuf: a `PushRequest`, uncompressed. There is one for each thread:
/// it keeps its scratch memory. `JSONLogDecoder.decodeLoki` reads the same as JSON.
///
/// Bytes that cannot be a push are refused with their position; unknown fields are skipped. The
/// writer decides what a log may be.
///
/// - A stream's labels are tags, so each set of labels is a group of its own; the logs of a set are
///   together.
/// - An entry's line is the field `content`, and its structured metadata are fields beside it.
///   Metadata called `content` is `content_extracted`.
/// - Times are kept to the nanosecond. In protobuf an entry may have none; it gets its arrival
///   then.
package final class LokiDecoder {
    private(set) var reader: LokiProtobufReader

    package init(limits: LogLimits = LogLimits()) {
        reader = LokiProtobufReader(limits: limits)
    }

    package func decode(_ body: LogBody) throws(LogDecodingError) -> [TrackedLogs] {
        defer { reader.shrink() }
        reader.writer.start(body.timing, body.rules)
        return try reader.push(body.bytes)
    }
}

/// Writes the logs of a push, in one pass over it (pkg/push/push.proto of Loki).
struct LokiProtobufReader: ~Copyable {
    let limits: LogLimits
    var writer: LogWriter
    private var name: [UInt8] = []
    private var value: [UInt8] = []
    /// The labels of the stream that is being read.
    private var tags = GatheredTags()
    /// True when each entry so far of the stream that is being read had a time.
    private var areTimed = true

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
    }

    /// The memory that labels may use without growth.
    var labelCapacity: Int { name.capacity + value.capacity + tags.capacity }

    mutating func shrink() {
        writer.shrink()
        guard labelCapacity > RawMemory.keptBytes else { return }
        (name, value, tags) = ([], [], GatheredTags())
    }

    mutating func push(_ bytes: UnsafeRawBufferPointer) throws(LogDecodingError) -> [TrackedLogs] {
        var streams = LokiStreams()
        var fields = ProtobufReader(bytes)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let range)): try stream(bytes, range, &streams, at: fields.start)
            case (1, _): throw fields.wrongType(1, of: "PushRequest")
            default: continue
            }
        }
        return streams.groups
    }

    private mutating func stream(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        _ streams: inout LokiStreams,
        at position: Int
    ) throws(LogDecodingError) {
        var labels: Range<Int>?
        writer.startPart()
        areTimed = true
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let text)): labels = text
            case (2, .bytes(let entry)): try self.entry(bytes, entry, at: fields.start)
            case (1...2, _): throw fields.wrongType(field.field, of: "Stream")
            default: continue
            }
        }
        let logs = writer.logs
        // Labels that are written as before are not parsed again.
        let text = bytes.text(labels ?? range.lowerBound..<range.lowerBound)
        if logs.count > 0, let known = streams.index(of: text) {
            return streams.append(logs, at: known, areTimed: areTimed)
        }
        tags.removeAll()
        if let labels { try gather(text, at: labels.lowerBound) }
        guard logs.count > 0 else { return }
        do throws(LokiMistake) {
            let index = try streams.index(of: &tags, writtenAs: text, limits)
            streams.append(logs, at: index, areTimed: areTimed)
        } catch {
            throw fields.fault(position, error.sentence)
        }
    }

    private mutating func gather(
        _ text: UnsafeBufferPointer<UInt8>,
        at start: Int
    ) throws(LogDecodingError) {
        var reader = LokiLabelText(text)
        while true {
            do throws(LokiLabelText.Mistake) {
                guard try reader.next(name: &name, value: &value) else { return }
            } catch {
                throw LogDecodingError(position: start + reader.position, reason: "\(error.reason)")
            }
            // A label without a value is none.
            guard !value.isEmpty else { continue }
            name.withUnsafeBufferPointer { name in
                value.withUnsafeBufferPointer { value in tags.addUnchecked(name, value, limits) }
            }
        }
    }

    private mutating func entry(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(LogDecodingError) {
        var fields = ProtobufReader(bytes, in: range)
        try writer.checkRoom(at: start)
        var line = range.lowerBound..<range.lowerBound
        writer.startLog()
        var isTimed = false
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let time)):
                isTimed = true
                try self.time(bytes, time)
            case (2, .bytes(let text)): line = text
            case (3, .bytes(let label)):
                let pair = try TextPair(bytes, label, of: "LabelPair")
                metadata(bytes.text(pair.key), bytes.text(pair.value))
            case (1...3, _): throw fields.wrongType(field.field, of: "Entry")
            default: continue
            }
        }
        writer.uncheckedField(name: LokiField.line, value: bytes.text(line))
        try writer.endLog(at: start)
        if !isTimed { areTimed = false }
    }

    private mutating func metadata(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        if LokiField.line ~= name {
            writer.uncheckedField(name: LokiField.taken, value: value)
        } else {
            writer.uncheckedField(name: name, value: value)
        }
    }

    /// google.protobuf.Timestamp.
    private mutating func time(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(LogDecodingError) {
        var (seconds, nanoseconds): (Int64, UInt32) = (0, 0)
        var fields = ProtobufReader(bytes, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .number(let number)): seconds = Int64(bitPattern: number)
            case (2, .number(let number)):
                guard number < 1_000_000_000 else {
                    throw fields.fault("nanos must lie between 0 and 999999999")
                }
                nanoseconds = UInt32(number)
            case (1...2, _): throw fields.wrongType(field.field, of: "Timestamp")
            default: continue
            }
        }
        guard seconds < 0 else {
            return writer.time(seconds: UInt64(seconds), nanoseconds: nanoseconds)
        }
        writer.impossibleTime(written: "\(seconds)")
    }
}

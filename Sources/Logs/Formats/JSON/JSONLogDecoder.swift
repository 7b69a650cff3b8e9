/// Reads JSON bodies and writes their logs as protobuf, in one pass. There is one for each thread:
/// it keeps the parser and its scratch memory. Each format adds its verb in its own folder.
///
/// simdjson finds the tokens; its own second stage is not used. The walk over them writes every
/// field once, at its final place: no object, `String` or number conversion on the way, so numbers
/// keep the digits they were sent with.
///
/// `__time__` gives a log's time and is not stored. `LogWriter` treats other special names, and
/// logs that SLS would refuse; the rules for it come with each body. Bodies must have 64 readable
/// bytes after their end.
package final class JSONLogDecoder {
    /// The memory that stays allocated between bodies.
    private static let keptBytes = 256 << 10

    var reader: JSONLogReader
    var repair = JSONRepair()
    /// Texts so far that could be read only after bytes of them were replaced.
    package private(set) var repairs = 0

    package init(limits: LogLimits = LogLimits()) {
        reader = JSONLogReader(limits: limits)
    }

    /// Reads a body as a whole. If that fails and the rules allow it, the whole body is read again
    /// with its damaged bytes replaced, so a sound body pays nothing for it.
    func decode<Result>(
        _ body: JSONBody,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Result
    ) throws(LogDecodingError) -> Result {
        try reading(body.bytes) { text, _ throws(JSONFault) in
            let first: JSONFault
            do throws(JSONFault) {
                return try read(text, of: body, take)
            } catch {
                guard body.allowsRepair(of: error) else { throw error }
                first = error
            }
            guard let copy = try repaired(text) else { throw first }
            do throws(JSONFault) {
                return try read(copy, of: body, isRepaired: repair.replacedBytes, take)
            } catch {
                throw JSONFault(error.reason, at: repair.source(of: error.position, in: text))
            }
        }
    }

    /// Gives `read` a body without its byte order mark, and the size of that mark.
    func reading<Result>(
        _ body: UnsafeRawBufferPointer,
        _ read: (UnsafeBufferPointer<UInt8>, Int) throws(JSONFault) -> Result
    ) throws(LogDecodingError) -> Result {
        // RFC 8259, 8.1: a byte order mark may be ignored.
        let hasMark = body.count >= 3 && body[0] == 0xEF && body[1] == 0xBB && body[2] == 0xBF
        let skipped = hasMark ? 3 : 0
        defer { shrink(after: body.count) }
        do throws(JSONFault) {
            guard let text = body.bindMemory(to: UInt8.self).baseAddress, body.count > skipped
            else {
                throw JSONFault(.empty, at: 0)
            }
            return try read(
                UnsafeBufferPointer(start: text + skipped, count: body.count - skipped),
                skipped
            )
        } catch {
            throw LogDecodingError(
                position: error.position + skipped,
                reason: error.reason.sentence,
                kind: error.reason.kind
            )
        }
    }

    /// Begins a body and reads it as one text.
    func read<Result>(
        _ text: UnsafeBufferPointer<UInt8>,
        of body: JSONBody,
        isRepaired: Bool = false,
        _ take: (inout JSONLogReader) throws(JSONFault) -> Result
    ) throws(JSONFault) -> Result {
        reader.startBody(body)
        reader.writer.isRepaired = isRepaired
        try reader.start(text)
        return try take(&reader)
    }

    /// A copy of the text that may be readable where the text is not; nil when there is nothing to
    /// replace in it.
    func repaired(
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8>? {
        guard try repair.run(text, adding: reader.limits.repairBytes) else { return nil }
        repairs += 1
        return repair.copy
    }

    /// Gives back the memory that a large body needed.
    func shrink(after bodyBytes: Int) {
        if bodyBytes > Self.keptBytes { reader.cursor.shrink(to: Self.keptBytes) }
        reader.writer.shrink(to: Self.keptBytes)
        repair.shrink(to: Self.keptBytes)
    }
}

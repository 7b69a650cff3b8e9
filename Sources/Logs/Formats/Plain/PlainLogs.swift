// Objects and arrays of objects, in any mix, one after the other: a single log, an array, NDJSON.
extension JSONLogDecoder {
    /// Reads each object as a log. A field of it called `timeField` is taken as `__time__` is.
    package func decodePlain(
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        timeField: String? = nil
    ) throws(LogDecodingError) -> DecodedLogs {
        let options = JSONLogOptions(
            keepsUnreadableTimes: false,
            timeField: timeField.map { TimeField($0) } ?? .none
        )
        let body = JSONBody(bytes, timing, rules, options)
        return try reading(bytes) { text, offset throws(JSONFault) in
            do throws(JSONFault) {
                return try read(text, of: body) { reader throws(JSONFault) in
                    try reader.logs()
                    return reader.writer.logs
                }
            } catch {
                guard body.allowsRepair(of: error) else { throw error }
                return try readPieces(of: text, at: offset, after: error)
            }
        }
    }

    /// Reads each object of a damaged body by itself, from the first that could not be read on. An
    /// object that is no JSON even when damaged bytes are replaced becomes a log that is set aside.
    ///
    /// A body without a good log is refused as it would be otherwise, for `first`.
    private func readPieces(
        of text: UnsafeBufferPointer<UInt8>,
        at offset: Int,
        after first: JSONFault
    ) throws(JSONFault) -> DecodedLogs {
        reader.writer.abandonLog(keeping: reader.complete.bytes)
        var pieces = JSONPieces(text, from: reader.incomplete)
        while let range = pieces.next() {
            let piece = UnsafeBufferPointer(rebasing: text[range])
            do throws(JSONFault) {
                try readPiece(piece)
            } catch {
                let fault = JSONFault(error.reason, at: range.lowerBound + error.position)
                try reader.setAside(piece, fault, at: offset)
            }
        }
        guard reader.writer.logCount > reader.unreadable.count else { throw first }
        return reader.writer.logs
    }

    /// Repairs first: a body that gets here mostly has damage in many places, and the repair costs
    /// about as much as finding out that there is nothing to replace.
    private func readPiece(_ piece: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        let kept = reader.writer.output.length
        let copy = try repaired(piece)
        reader.writer.isRepaired = copy != nil && repair.replacedBytes
        defer { reader.writer.isRepaired = false }
        do throws(JSONFault) {
            try reader.start(copy ?? piece)
            try reader.logs()
        } catch {
            reader.writer.abandonLog(keeping: kept)
            guard copy != nil else { throw error }
            throw JSONFault(error.reason, at: repair.source(of: error.position, in: piece))
        }
    }
}

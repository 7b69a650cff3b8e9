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
        _ bytes: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        timeParts: Bool = false
    ) throws(LogDecodingError) -> TrackedLogs {
        let body = JSONBody(bytes, timing, rules, JSONLogOptions(takesTimeParts: timeParts))
        return try reading(bytes) { text, offset throws(JSONFault) in
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
        of body: JSONBody,
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
        of body: JSONBody,
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

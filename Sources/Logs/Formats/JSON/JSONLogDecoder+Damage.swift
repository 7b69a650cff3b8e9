// What is done with a body that is not JSON, where the rules do not refuse it. All of it comes behind a failed reading
// of the body as it is: bodies that are as they should be never get here.
extension JSONLogDecoder {
    /// A copy of the text that may be read where the text itself cannot; nil when there is nothing to replace in it.
    func repaired(
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt8>? {
        guard try repair.run(text, adding: walk.limits.repairBytes) else { return nil }
        repairs += 1
        return UnsafeBufferPointer(start: repair.start, count: repair.count)
    }

    /// Reads each object of a body by itself, from the first that could not be read on. What is no object of JSON even
    /// when damaged bytes are replaced becomes a log that is set aside.
    ///
    /// A body with nothing good in it is refused as it would be otherwise, for `first`. So is one with more that is bad
    /// than anybody wants to look through: it is another format, and each dead letter is a row of the queue.
    func readPieces(
        of text: UnsafeBufferPointer<UInt8>,
        at offset: Int,
        after first: JSONFault
    ) throws(JSONFault) -> DecodedLogs {
        walk.writer.abandonLog(keeping: walk.complete.bytes)
        var pieces = JSONPieces(text, from: walk.incomplete)
        while let range = pieces.next() {
            let piece = UnsafeBufferPointer(rebasing: text[range])
            do throws(JSONFault) {
                try readPiece(piece)
            } catch {
                let fault = JSONFault(error.reason, at: range.lowerBound + error.position)
                try walk.setAside(piece, fault, at: offset)
            }
        }
        guard walk.writer.logCount > walk.unreadable else { throw first }
        return walk.writer.logs
    }

    /// Reads an object with `__logs__` that could not be read as it is, for `first`. Elements that are still no log when
    /// damaged bytes are replaced are set aside. Of an object that was cut off the last, unfinished element is.
    func readDamagedTracking(
        _ text: UnsafeBufferPointer<UInt8>,
        at offset: Int,
        _ timing: BatchTiming,
        _ rules: LogRules,
        after first: JSONFault
    ) throws(JSONFault) -> TrackedLogs {
        let copy = try repaired(text)
        let isRepaired = copy != nil && repair.replacedBytes
        func asSent(_ fault: JSONFault) -> JSONFault {
            guard copy != nil else { return fault }
            return JSONFault(fault.reason, at: repair.source(of: fault.position, in: text))
        }
        (walk.setsAside, walk.notesDamaged) = (true, copy != nil)
        defer { (walk.setsAside, walk.notesDamaged, walk.damaged) = (false, false, []) }
        var tracked: TrackedLogs
        // What follows an array that was cut off.
        var unfinished: (text: UnsafeBufferPointer<UInt8>, fault: JSONFault)?
        do throws(JSONFault) {
            tracked = try readTracking(copy ?? text, timing, rules, isRepaired: isRepaired)
        } catch {
            if !error.reason.isOfRequest, let cut = JSONCut(copy ?? text, array: "__logs__") {
                let rest = copy == nil ? cut.rest : repair.source(of: cut.rest, in: text)
                unfinished = (UnsafeBufferPointer(rebasing: text[rest...]), error)
                // The text as it is was copied, too.
                repair.end(at: cut.end, with: "]}")
                let ended = UnsafeBufferPointer(start: repair.start, count: repair.count)
                do throws(JSONFault) {
                    tracked = try readTracking(ended, timing, rules, isRepaired: isRepaired)
                } catch {
                    throw error.reason.isOfRequest ? asSent(error) : first
                }
            } else if copy != nil {
                throw asSent(error)
            } else {
                throw error.reason.isOfRequest ? error : first
            }
        }
        do throws(JSONFault) {
            try setAsideDamaged(of: text)
            if let unfinished, !unfinished.text.isEmpty {
                try walk.setAside(unfinished.text, unfinished.fault)
            }
        } catch {
            throw asSent(error)
        }
        guard walk.hasReadable else { throw first }
        tracked.logs = walk.writer.logs
        tracked.logs.changePlaces { places in
            let sources = copy == nil ? places : repair.sources(of: places, in: text)
            return sources.map { $0 + offset }
        }
        return tracked
    }

    /// Sets aside the elements that were noted in the repaired copy, as they were sent.
    private func setAsideDamaged(of text: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        guard !walk.damaged.isEmpty else { return }
        let bounds = walk.damaged.flatMap { [$0.place.lowerBound, $0.place.upperBound] }
        let sent = repair.sources(of: bounds, in: text)
        for (index, element) in walk.damaged.enumerated() {
            let place = sent[2 * index]..<sent[2 * index + 1]
            try walk.setAside(UnsafeBufferPointer(rebasing: text[place]), element.fault)
        }
    }

    /// Mostly a body that gets here has damage in many places, so the repair comes first. It costs about what it would
    /// to find out that there is nothing to replace.
    private func readPiece(_ piece: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        let kept = walk.writer.length
        let copy = try repaired(piece)
        walk.writer.isRepaired = copy != nil && repair.replacedBytes
        defer { walk.writer.isRepaired = false }
        do throws(JSONFault) {
            try start(copy ?? piece)
            try walk.documents()
        } catch {
            walk.writer.abandonLog(keeping: kept)
            guard copy != nil else { throw error }
            throw JSONFault(error.reason, at: repair.source(of: error.position, in: piece))
        }
    }
}

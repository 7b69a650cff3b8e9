extension JSONLogWalk {
    /// One object as one log. Its length and its time come first but are known last: their places are
    /// kept, and the log moves when its length needs more or fewer bytes than the one before it.
    mutating func log(depth: Int) throws(JSONFault) {
        guard logCount < limits.logs else { throw fault(.tooManyLogs(limits.logs)) }
        makeRoom(from: Int(tokens[next]))
        let entry = length
        let guess = logLengthSize
        let start = entry + 1 + guess
        length = start + 1 + Varint.timeSize
        let batchTime = time
        names.startLog()

        next += 1
        guard next < tokenCount else { throw unfinished }
        if byte == UInt8(ascii: "}") {
            next += 1
        } else {
            try fields(depth: depth)
        }

        if names.hasReplaced || !remarks.isEmpty {
            closeSpecial(entry, start)
        } else {
            close(entry, start)
        }
        time = batchTime
    }

    /// Writes what comes before the fields of the log at `entry`, whose content begins at `start`.
    @inline(__always)
    private mutating func close(_ entry: Int, _ start: Int) {
        let body = memory.start + start
        body[0] = LogTag.time
        Varint.writePadded(time.seconds, to: body + 1)
        if time.nanoseconds > 0 {
            memory.start[length] = LogTag.nanoseconds
            UnsafeMutableRawPointer(memory.start + length + 1)
                .storeBytes(of: time.nanoseconds.littleEndian, as: UInt32.self)
            length += 5
        }

        let count = length - start
        let size = Varint.size(count)
        if size != start - entry - 1 {
            (memory.start + entry + 1 + size).update(from: memory.start + start, count: count)
            length += entry + 1 + size - start
            logLengthSize = size
        }
        memory.start[entry] = GroupTag.logs
        _ = Varint.write(count, to: memory.start + entry + 1)
        logCount += 1
    }

    @inline(never)
    private mutating func closeSpecial(_ entry: Int, _ start: Int) {
        writeRemarks()
        if names.hasReplaced { dropReplaced(from: start + 1 + Varint.timeSize) }
        close(entry, start)
        settleRemarks(onLogAt: entry)
    }

    /// Fields and the closing brace.
    private mutating func fields(depth: Int) throws(JSONFault) {
        while true {
            try field(depth: depth)
            // A field ends before the last token.
            let separator = byte
            guard separator == UInt8(ascii: ",") else {
                guard separator == UInt8(ascii: "}") else { throw fault(.objectEndExpected) }
                next += 1
                return
            }
            next += 1
        }
    }
}

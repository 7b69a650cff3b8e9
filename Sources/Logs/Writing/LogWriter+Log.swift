extension LogWriter {
    /// A log's length and its time come first but are known last: their places are kept, and the log
    /// moves when its length needs more or fewer bytes than the one before it.
    @inline(__always)
    mutating func startLog() {
        makeRoom(forBytes: 0)
        entry = length
        content = entry + 1 + logLengthSize
        length = content + 1 + Varint.timeSize
        time = arrivalTime
        hasOwnTime = false
        unnamed = 0..<0
        names.startLog()
    }

    @inline(__always)
    mutating func endLog() {
        if names.hasReplaced || !remarks.isEmpty || isRepaired { return endSpecialLog() }
        closeLog()
    }

    /// Takes back the log that was begun, and what was written since `length` bytes.
    mutating func abandonLog(keeping length: Int) {
        self.length = length
        remarks.clear()
    }

    @inline(never)
    private mutating func endSpecialLog() {
        if let nanoseconds = remarks.nanoseconds, hasOwnTime {
            time = LogTime(seconds: time.seconds, nanoseconds: nanoseconds)
        }
        names.startMarks()
        writeRemarks()
        if names.hasReplaced { dropReplaced(from: content + 1 + Varint.timeSize) }
        closeLog()
        settleRemarks(onLogAt: entry)
    }

    /// Writes what comes before the fields.
    @inline(__always)
    private mutating func closeLog() {
        let (entry, content) = (entry, content)
        let body = memory.start + content
        body[0] = LogTag.time
        Varint.writePadded(time.seconds, to: body + 1)
        if time.nanoseconds > 0 {
            memory.start[length] = LogTag.nanoseconds
            UnsafeMutableRawPointer(memory.start + length + 1)
                .storeBytes(of: time.nanoseconds.littleEndian, as: UInt32.self)
            length += 5
        }

        let count = length - content
        let size = Varint.size(count)
        if size != content - entry - 1 {
            (memory.start + entry + 1 + size).update(from: memory.start + content, count: count)
            length += entry + 1 + size - content
            logLengthSize = size
        }
        memory.start[entry] = GroupTag.logs
        _ = Varint.write(count, to: memory.start + entry + 1)
        logCount += 1
    }
}

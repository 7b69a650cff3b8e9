extension LogWriter {
    /// Closes the gaps of fields whose name came again: one pass over the log's fields.
    @inline(never)
    mutating func dropReplaced(from first: Int) {
        var source = UnsafePointer(memory.start + first)
        let end = UnsafePointer(memory.start + length)
        var place = memory.start + first
        while source < end {
            let field = source
            source += 1
            let size = Varint.read(&source)
            source += size
            guard field.pointee == LogTag.contents else { continue }
            let count = source - field
            place.update(from: field, count: count)
            place += count
        }
        length = place - memory.start
    }
}

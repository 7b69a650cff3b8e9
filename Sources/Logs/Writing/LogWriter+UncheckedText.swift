// SLS refuses a whole packet for one byte that is not UTF-8 (`InvalidEncoding`), and refusing a request
// for it would cost the client all logs of it. So such bytes become U+FFFD, one for each maximal subpart
// as Unicode recommends (3.9), and the log's field `__invalid_utf8__` names the fields: they were no
// text, so nothing is lost that could have been read.
extension LogWriter {
    /// Writes a field of texts that nobody has looked at.
    @inline(__always)
    mutating func uncheckedField(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>
    ) {
        guard name.isUTF8, value.isUTF8 else { return repairedField(name, value) }
        field(name: name, value: value)
    }

    mutating func uncheckedField(name: StaticString, value: UnsafeBufferPointer<UInt8>) {
        uncheckedField(
            name: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
            value: value
        )
    }

    @inline(never)
    private mutating func repairedField(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let start = length
        makeRoom(forBytes: UTF8Sequence.growth * (name.count + value.count))
        let nameBytes = UTF8Sequence.repair(name, to: memory.start + nameOffset)
        let field = openField(nameBytes: nameBytes)
        let valueBytes = UTF8Sequence.repair(value, to: memory.start + field.value)
        close(field, valueBytes: valueBytes)
        remarks.addInvalid(at: name.isEmpty ? unnamed.lowerBound : start)
    }
}

extension LogWriter {
    /// Writes a field of the log. Both texts are valid UTF-8 and lie outside the writer.
    @inline(__always)
    mutating func field(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>
    ) {
        makeRoom(forBytes: name.count + value.count)
        // Nearly all fields: all lengths are known, and the name is stored as it is.
        guard name.count > 0, name.count <= limits.keyBytes, name.count < 0x80,
            value.count <= limits.valueBytes, name[0] != UInt8(ascii: "_")
        else { return fieldInParts(name, value) }
        write(name, value)
    }

    /// A field whose name is none of those that SLS keeps for itself, and short.
    @inline(__always)
    mutating func field(name: StaticString, value: UnsafeBufferPointer<UInt8>) {
        field(
            name: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
            value: value
        )
    }

    mutating func field(name: StaticString, value: [UInt8]) {
        value.withUnsafeBufferPointer { field(name: name, value: $0) }
    }

    @inline(never)
    private mutating func fieldInParts(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        put(name, at: nameOffset)
        let field = openField(nameBytes: name.count)
        put(value, at: field.value)
        close(field, valueBytes: value.count)
    }

    private func put(_ text: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let start = text.baseAddress else { return }
        (memory.start + offset).update(from: start, count: text.count)
    }

    /// Writes a field as it is, at its place, for which there is room.
    @inline(__always)
    mutating func write(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let start = memory.start
        let size =
            2 + Varint.size(name.count) + name.count + Varint.size(value.count) + value.count
        var place = start + length
        place.pointee = LogTag.contents
        place = Varint.write(size, to: place + 1)
        place.pointee = PairTag.key
        let key = Varint.write(name.count, to: place + 1)
        if let text = name.baseAddress { key.update(from: text, count: name.count) }
        place = key + name.count
        place.pointee = PairTag.value
        place = Varint.write(value.count, to: place + 1)
        if let text = value.baseAddress { place.update(from: text, count: value.count) }
        names.add(key, name.count, content: length, in: start)
        length = place - start + value.count
    }
}

/// A field whose name and value are written with room before them and then moved together: for text
/// of which nobody knows beforehand how long it is as it is stored, or what its name becomes.
struct OpenField {
    fileprivate var key: Int
    fileprivate var keyCount: Int
    fileprivate let isNameTooLong: Bool
    fileprivate let isNameEmpty: Bool
    /// What the name means to SLS.
    let reserved: ReservedKey?
    /// Where in the memory the value belongs.
    let value: Int
}

extension LogWriter {
    /// Room before a key for the field's tag, length and key length, and what a reserved one becomes.
    private static let keyRoom = 24
    /// Room before a value for its tag and length.
    private static let valueRoom = 8

    /// Where in the memory the name of a field belongs that is then opened. For name and value the
    /// caller has made room, together.
    var nameOffset: Int { length + Self.keyRoom }

    /// The name is written, the value comes next.
    mutating func openField(nameBytes: Int) -> OpenField {
        if nameBytes == 0 { dropUnnamedNeighbour() }
        let key = nameOffset
        var count = nameBytes
        let isNameTooLong = count > limits.keyBytes
        if count == 0 || isNameTooLong { count = storableName(key, count) }
        return OpenField(
            key: key,
            keyCount: count,
            isNameTooLong: isNameTooLong,
            isNameEmpty: nameBytes == 0,
            reserved: ReservedKey(UnsafeBufferPointer(start: memory.start + key, count: count)),
            value: key + count + Self.valueRoom
        )
    }

    func name(of field: borrowing OpenField) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + field.key, count: field.keyCount)
    }

    /// The value is written, too. A field that is not closed leaves nothing.
    mutating func close(_ field: consuming OpenField, valueBytes: Int) {
        var valueCount = valueBytes
        if let reserved = field.reserved {
            let stored = reserved.stored(name(of: field))
            field.key += field.keyCount - stored.count
            field.keyCount = stored.count
            _ = UnsafeMutableBufferPointer(start: memory.start + field.key, count: stored.count)
                .update(fromContentsOf: stored)
        }
        if valueCount > limits.valueBytes {
            remarks.addOversized(.value, at: length)
            valueCount = storableValue(field.value, valueCount)
        } else if field.isNameTooLong {
            remarks.addOversized(.name, at: length)
        }
        let start = length
        write(
            name(of: field),
            UnsafeBufferPointer(start: memory.start + field.value, count: valueCount)
        )
        if field.isNameEmpty { unnamed = start..<length }
    }

    /// A field without a name takes seven times what it came in, and the next one replaces it: at once when
    /// they are neighbours, so that a body of nothing else does not grow.
    private mutating func dropUnnamedNeighbour() {
        guard length == unnamed.upperBound, !unnamed.isEmpty else { return }
        remarks.forget(fieldAt: unnamed.lowerBound)
        length = unnamed.lowerBound
    }

    /// What is stored instead of an empty name or one that is too long, in its place.
    @inline(never)
    private func storableName(_ offset: Int, _ count: Int) -> Int {
        let name = memory.start + offset
        guard count == 0 else {
            return rules.oversize == .cut
                ? FieldName.cut(name, count, to: limits.keyBytes) : count
        }
        let empty = FieldName.empty
        name.update(from: empty.utf8Start, count: empty.utf8CodeUnitCount)
        return empty.utf8CodeUnitCount
    }

    /// How much is stored of a value that is too long.
    @inline(never)
    private func storableValue(_ offset: Int, _ count: Int) -> Int {
        rules.oversize == .cut
            ? utf8Boundary(memory.start + offset, atMost: limits.valueBytes) : count
    }
}

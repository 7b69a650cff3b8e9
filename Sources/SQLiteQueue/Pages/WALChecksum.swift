/// SQLite's checksum of the WAL, in the byte order that the log's head names.
struct WALChecksum {
    let isBigEndian: Bool
    var value: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool, _ value: (UInt32, UInt32) = (0, 0)) {
        self.isBigEndian = isBigEndian
        self.value = value
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count, by: 8) {
                value.0 &+= word(buffer, offset) &+ value.1
                value.1 &+= word(buffer, offset + 4) &+ value.0
            }
        }
    }

    /// Undoes `add`: each step of the sum is reversible.
    mutating func remove(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: buffer.count - 8, through: 0, by: -8) {
                value.1 &-= word(buffer, offset + 4) &+ value.0
                value.0 &-= word(buffer, offset) &+ value.1
            }
        }
    }

    private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
}

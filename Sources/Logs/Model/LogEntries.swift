/// The `Log` entries of encoded logs, one after the other, without copying any.
///
/// The bytes may come from disk: a walk over damaged ones ends in an error, never outside of them.
package struct LogEntries {
    private let bytes: UnsafeRawBufferPointer
    /// Where the next entry starts.
    package private(set) var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The range of the next entry, its tag and length included; nil at the end.
    package mutating func next() throws(ProtobufError) -> Range<Int>? {
        guard position < bytes.count else { return nil }
        let start = position
        guard bytes[start] == GroupTag.logs else { throw fault("no log entry starts here") }
        var pointer = start + 1
        var size = 0
        var shift = 0
        while true {
            guard pointer < bytes.count, shift < 35 else {
                throw fault("the entry's length is broken")
            }
            let byte = bytes[pointer]
            pointer += 1
            size |= Int(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 { break }
        }
        guard size <= bytes.count - pointer else { throw fault("the entry is cut off") }
        position = pointer + size
        return start..<position
    }

    private func fault(_ reason: String) -> ProtobufError {
        ProtobufError(position: position, reason: reason)
    }

    /// How many entries there are.
    package static func count(_ bytes: [UInt8]) throws(ProtobufError) -> Int {
        let result: Result<Int, ProtobufError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(ProtobufError) in
                var entries = LogEntries(bytes)
                var count = 0
                while try entries.next() != nil { count += 1 }
                return count
            }
        }
        return try result.get()
    }
}

import Glibc

/// A log as SQLite would have written it, made of another log's sound frames and a first page.
struct MendedLog {
    private let descriptor: CInt
    private let head: WALHeader
    private var sum: WALChecksum
    /// The error number if the log could not be written.
    private(set) var code: CInt = 0

    init(_ descriptor: CInt, _ head: WALHeader) {
        self.descriptor = descriptor
        self.head = head
        sum = head.sum
    }

    /// Returns true if everything was written and synced.
    mutating func write(_ stored: borrowing StoredPages, _ first: FirstPage.Mended?) -> Bool {
        guard write(head.bytes) else { return false }
        for frame in stored.scan?.sound ?? [] {
            guard let bytes = WALScan.read(stored.log, head.frameBytes, at: frame.offset) else {
                code = errno
                return false
            }
            guard add(bytes) else { return false }
        }
        if let first {
            // The first page gets a transaction of its own, so it takes precedence over the earlier
            // ones.
            let ends = UInt32(1).bytes + UInt32(clamping: stored.count).bytes
            let noSum: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
            guard add(ends + head.bytes[16..<24] + noSum + first.bytes) else { return false }
        }
        guard fsync(descriptor) == 0 else {
            code = errno
            return false
        }
        return true
    }

    /// Adds a frame with the checksum that it has at this place.
    private mutating func add(_ frame: [UInt8]) -> Bool {
        sum.add(frame[..<8])
        sum.add(frame[WALScan.frameHeadBytes...])
        let own = sum.value.0.bytes + sum.value.1.bytes
        return write(frame[..<16] + own + frame[WALScan.frameHeadBytes...])
    }

    private mutating func write(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        // A short write means that the disk has no room for the rest.
        if count != bytes.count { code = count < 0 ? errno : ENOSPC }
        return count == bytes.count
    }
}

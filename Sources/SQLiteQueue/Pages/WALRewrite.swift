import Glibc
import System

/// Makes a write-ahead log durable where it lies: proves each frame, writes the same bytes once
/// more and syncs the file.
///
/// After a sync that failed the kernel may take pages for written that never reached the disk, and
/// a second sync then succeeds without writing them. Writing them makes them dirty, so the next
/// sync covers them. The content stays as it is, so connections that read the log meanwhile see no
/// change, and no space is needed.
enum WALRewrite {
    /// Stops at the first frame that fails the proof, where SQLite takes the log to end. Returns
    /// the number of written frames.
    static func run(_ path: String) throws(SystemError) -> Int {
        let file = OwnedDescriptor(
            taking: try system("open") { open(path, O_RDWR | O_CLOEXEC) }
        )
        let frames = try writeFrames(file.number)
        let number = file.number
        _ = try system("fsync") { fsync(number) }
        return frames
    }

    private static func writeFrames(_ file: CInt) throws(SystemError) -> Int {
        guard let found = try read(file, WALHeader.count, at: 0), let head = WALHeader(found) else {
            return 0
        }
        // The head means nothing without frames, so it is written with the first one.
        var unwritten = found
        var sum = head.sum
        var frames = 0
        var offset = WALHeader.count
        while let frame = try read(file, head.frameBytes, at: offset) {
            let words = BigEndianWords(frame)
            sum.add(frame[..<8])
            sum.add(frame[WALScan.frameHeadBytes...])
            guard (words[2], words[3]) == head.salt, sum.value == (words[4], words[5]) else {
                break
            }
            try write(unwritten + frame, to: file, at: offset - unwritten.count)
            unwritten = []
            offset += head.frameBytes
            frames += 1
        }
        return frames
    }

    /// Nil at the end of the log. A read error is not the end, because it may pass. A read that
    /// meets an error behind its first bytes returns only these bytes, and the next read returns
    /// the error.
    static func read(
        _ file: CInt,
        _ count: Int,
        at offset: Int
    ) throws(SystemError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var found = 0
        while found < count {
            let more = try system("pread") {
                bytes.withUnsafeMutableBytes { bytes in
                    pread(file, bytes.baseAddress! + found, count - found, off_t(offset + found))
                }
            }
            guard more > 0 else { return nil }
            found += more
        }
        return bytes
    }

    private static func write(
        _ bytes: [UInt8],
        to file: CInt,
        at offset: Int
    ) throws(SystemError) {
        let count = try system("pwrite") { pwrite(file, bytes, bytes.count, off_t(offset)) }
        // A short write means that the disk has no room for the rest.
        guard count == bytes.count else { throw SystemError(call: "pwrite", code: ENOSPC) }
    }
}

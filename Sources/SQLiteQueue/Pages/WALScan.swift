import Glibc
import SQLite

/// Reads the write-ahead log before SQLite does, which takes it to end at the first damaged frame
/// and does not report the commits behind it.
///
/// A frame's checksum continues the one in the head of the frame before. So a frame can be proved
/// even if the content of the frame before it is damaged, and damage costs only the pages that it
/// hit.
struct WALScan {
    struct Frame {
        let offset: Int
        let page: UInt32
        /// The database's size in pages if the frame ends a transaction, else 0.
        let commit: UInt32
    }

    static let frameHeadBytes = 24
    /// The least number of pages that a transaction holds in memory before it writes any.
    private static let small = 64

    let head: WALHeader
    let isHeadRebuilt: Bool
    /// The undamaged frames in their order, up to the last commit.
    private(set) var sound: [Frame] = []
    private(set) var damagedFrames = 0
    /// Transactions that end at or behind the first damaged frame.
    private(set) var commitsBehind = 0
    /// The end of the last transaction that SQLite reads, and of the round's last frame.
    private(set) var provenEnd = 0
    private var roundEnd = 0

    /// Nil if there is no readable log; then SQLite begins a new one. Also nil if a part gives a
    /// read error, which is not the end: SQLite fails on it.
    init?(_ descriptor: CInt) {
        guard let found = Self.read(descriptor, WALHeader.count, at: 0) else { return nil }
        let sound = WALHeader(found)
        isHeadRebuilt = sound == nil
        guard let head = sound ?? WALHeader.rebuilt({ Self.read(descriptor, $0, at: $1) }) else {
            return nil
        }
        self.head = head
        let end = scan(descriptor)
        var about = stat()
        guard fstat(descriptor, &about) == 0, Int(about.st_size) - end < head.frameBytes else {
            return nil
        }
    }

    /// Returns the place at which it found no more frames.
    private mutating func scan(_ descriptor: CInt) -> Int {
        let (frameBytes, salt) = (head.frameBytes, head.salt)
        var sum = head.sum
        var offset = WALHeader.count
        var damaged = 0
        // The pages of the transaction that is being read.
        var pages: Set<UInt32> = []
        while let bytes = Self.read(descriptor, frameBytes, at: offset) {
            defer { offset += frameBytes }
            let words = BigEndianWords(bytes)
            sum.add(bytes[..<8])
            sum.add(bytes[Self.frameHeadBytes...])
            let isFromHere = (words[2], words[3]) == salt
            let isProved = isFromHere && sum.value == (words[4], words[5])
            if isProved {
                sound.append(Frame(offset: offset, page: words[0], commit: words[1]))
            } else {
                damaged += 1
            }
            if isFromHere, isProved || Self.liesInOneSector(offset) {
                // No transaction writes a page twice, so another one has ended in the damaged part.
                // But one that was too large for memory may end with a page that it wrote before.
                let mayRepeat = words[1] != 0 && pages.count > Self.small
                if !pages.insert(words[0]).inserted, damaged > 0, !mayRepeat {
                    commitsBehind += 1
                    pages = [words[0]]
                }
            }
            // Frames behind the last one of this round are left over from earlier rounds.
            if isFromHere { (damagedFrames, roundEnd) = (damaged, offset + frameBytes) }
            if damaged == 0, words[1] != 0 { provenEnd = offset + frameBytes }
            if isFromHere, words[1] != 0 {
                pages = []
                if damaged > 0 { commitsBehind += 1 }
            }
            // The next frame is proved against this frame's own checksum.
            sum.value = (words[4], words[5])
        }
        while let last = sound.last, last.commit == 0 { sound.removeLast() }
        return offset
    }

    /// True if a frame's head lies in one sector, and so in one round, even after a torn write.
    private static func liesInOneSector(_ offset: Int) -> Bool {
        offset % 512 + frameHeadBytes <= 512
    }

    /// A power cut may tear the last transaction, which was not acknowledged. SQLite reads nothing
    /// at all behind a damaged head.
    var isDamaged: Bool { commitsBehind > 1 || isHeadRebuilt && !sound.isEmpty }

    /// The head to write back. Nil unless all frames behind it are undamaged.
    var lostHead: WALHeader? { isHeadRebuilt && damagedFrames == 0 && !sound.isEmpty ? head : nil }

    /// The offsets of the round's frames that lie behind the part that SQLite reads.
    var rest: [Int] {
        Array(stride(from: max(provenEnd, WALHeader.count), to: roundEnd, by: head.frameBytes))
    }

    static func read(_ descriptor: CInt, _ count: Int, at offset: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = bytes.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, count, off_t(offset))
        }
        return found == count ? bytes : nil
    }

    var problem: SQLiteError? {
        guard isDamaged else { return nil }
        guard damagedFrames > 0 else { return .damage("the head of its log is damaged") }
        let pages = damagedFrames + sound.count
        return .damage("\(damagedFrames) of \(pages) pages in its log are damaged")
    }
}

/// A log as SQLite would have written it, made of another log's sound frames and a first page.
struct MendedLog {
    private let descriptor: CInt
    private let head: WALHeader
    private var sum: WALChecksum
    private(set) var code: CInt = 0

    init(_ descriptor: CInt, _ head: WALHeader) {
        self.descriptor = descriptor
        self.head = head
        sum = head.sum
    }

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
            // A transaction of its own, so that the first page takes precedence over earlier ones.
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

import Glibc
import SQLite

/// A look at the write-ahead log before SQLite's own, which takes the log to end at the first damaged frame, and says
/// nothing of the commits behind it.
///
/// A frame's checksum goes on from that of the frame before, which stands in that one's head. So a frame can be proved
/// although the one before it is damaged, and damage costs the pages that it hit.
struct WALScan {
    struct Frame {
        let offset: Int
        let page: UInt32
        /// The database's size in pages where the frame ends a transaction, else 0.
        let commit: UInt32
    }

    static let frameHeadBytes = 24
    /// Pages that a transaction holds in memory at least before it writes any.
    private static let small = 64

    let head: WALHeader
    /// What the file has for it is damaged.
    let isHeadRebuilt: Bool
    /// Those that are what was written, in their order, up to the last commit.
    private(set) var sound: [Frame] = []
    private(set) var damagedFrames = 0
    /// Transactions that end at or behind the first damaged frame.
    private(set) var commitsBehind = 0
    /// Where the last transaction ends that SQLite reads, and where the last frame of this round does.
    private(set) var provenEnd = 0
    private var roundEnd = 0

    /// Nil where there is no log, or none of which anything can be read: SQLite begins a new one. Also where a part of it
    /// cannot be read, which is no end: SQLite fails on it.
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

    /// Returns where it found no more.
    private mutating func scan(_ descriptor: CInt) -> Int {
        let (frameBytes, salt) = (head.frameBytes, head.salt)
        var sum = head.sum
        var offset = WALHeader.count
        var damaged = 0
        // Pages of the transaction that is being read.
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
                // None writes a page twice: another one has ended, in what is damaged. But one that was too large for memory
                // may end with a page that it wrote before.
                let mayRepeat = words[1] != 0 && pages.count > Self.small
                if !pages.insert(words[0]).inserted, damaged > 0, !mayRepeat {
                    commitsBehind += 1
                    pages = [words[0]]
                }
            }
            // Behind the last one of this round lies what is left of earlier rounds.
            if isFromHere { (damagedFrames, roundEnd) = (damaged, offset + frameBytes) }
            if damaged == 0, words[1] != 0 { provenEnd = offset + frameBytes }
            if isFromHere, words[1] != 0 {
                pages = []
                if damaged > 0 { commitsBehind += 1 }
            }
            // The next frame is proved against what this one says of itself.
            sum.value = (words[4], words[5])
        }
        while let last = sound.last, last.commit == 0 { sound.removeLast() }
        return offset
    }

    /// The head of a frame there, which then is all of this round or all of another, whatever was torn.
    private static func liesInOneSector(_ offset: Int) -> Bool {
        offset % 512 + frameHeadBytes <= 512
    }

    /// A power cut may tear the last transaction, which was not acknowledged. Earlier ones were. Behind a damaged head
    /// SQLite reads nothing at all.
    var isDamaged: Bool { commitsBehind > 1 || isHeadRebuilt && !sound.isEmpty }

    /// The one to write back, where all behind it is as it was.
    var lostHead: WALHeader? { isHeadRebuilt && damagedFrames == 0 && !sound.isEmpty ? head : nil }

    /// Where the frames begin that lie behind what SQLite reads of this round.
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
}

extension WALScan {
    /// What is wrong with the log, nil when nothing is.
    var problem: SQLiteError? {
        guard isDamaged else { return nil }
        guard damagedFrames > 0 else { return .damage("the head of its log is damaged") }
        let pages = damagedFrames + sound.count
        return .damage("\(damagedFrames) of \(pages) pages in its log are damaged")
    }
}

import Glibc

/// A look at the write-ahead log before SQLite's own, which takes the log to end at the first damaged frame, and says
/// nothing of the commits behind it.
///
/// A frame's checksum goes on from that of the frame before, which stands in that one's head. So a frame can be proved
/// although the one before it is damaged, and damage costs the pages that it hit.
struct LogScan {
    struct Frame {
        let offset: Int
        let page: UInt32
        /// The database's size in pages where the frame ends a transaction, else 0.
        let commit: UInt32
    }

    static let headBytes = 32
    static let frameHeadBytes = 24

    let head: [UInt8]
    let pageBytes: Int
    /// Those that are what was written, in their order, up to the last commit.
    private(set) var sound: [Frame] = []
    private(set) var damagedFrames = 0
    /// Transactions that end at or behind the first damaged frame.
    private(set) var commitsBehind = 0
    /// Where the last transaction ends that SQLite reads, and where the last frame of this round does.
    private(set) var provenEnd = 0
    private var roundEnd = 0

    /// Nil where there is no log, or none whose head can be read: SQLite begins a new one.
    init?(_ descriptor: CInt) {
        guard let head = Self.read(descriptor, Self.headBytes, at: 0) else { return nil }
        let words = Words(head)
        pageBytes = Int(words[2])
        guard words[0] & ~1 == 0x377f_0682, (512...65_536).contains(pageBytes) else { return nil }
        self.head = head
        var sum = WALChecksum(isBigEndian: words[0] & 1 == 1)
        sum.add(head[..<24])
        guard sum.value == (words[6], words[7]) else { return nil }
        scan(descriptor, sum, salt: (words[4], words[5]))
    }

    private mutating func scan(
        _ descriptor: CInt,
        _ first: WALChecksum,
        salt: (UInt32, UInt32)
    ) {
        let frameBytes = Self.frameHeadBytes + pageBytes
        var sum = first
        var offset = Self.headBytes
        var damaged = 0
        while let bytes = Self.read(descriptor, frameBytes, at: offset) {
            defer { offset += frameBytes }
            let words = Words(bytes)
            sum.add(bytes[..<8])
            sum.add(bytes[Self.frameHeadBytes...])
            let isFromHere = (words[2], words[3]) == salt
            if isFromHere, sum.value == (words[4], words[5]) {
                sound.append(Frame(offset: offset, page: words[0], commit: words[1]))
            } else {
                damaged += 1
            }
            // Behind the last one of this round lies what is left of earlier rounds.
            if isFromHere { (damagedFrames, roundEnd) = (damaged, offset + frameBytes) }
            if damaged == 0, words[1] != 0 { provenEnd = offset + frameBytes }
            if isFromHere, damaged > 0, words[1] != 0 { commitsBehind += 1 }
            // The next frame is proved against what this one says of itself.
            sum.value = (words[4], words[5])
        }
        while let last = sound.last, last.commit == 0 { sound.removeLast() }
    }

    /// A power cut may tear the last transaction, which nobody was told of. More than that was told.
    var isDamaged: Bool { commitsBehind > 1 }

    /// Whether something of this round lies behind what SQLite reads.
    var hasRest: Bool { roundEnd > provenEnd }

    private static func read(_ descriptor: CInt, _ count: Int, at offset: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = bytes.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, count, off_t(offset))
        }
        return found == count ? bytes : nil
    }
}

extension LogScan {
    /// The log with the sound frames alone, as SQLite would have written them.
    func mended(_ descriptor: CInt, _ write: ([UInt8]) -> Bool) -> Bool {
        let words = Words(head)
        var sum = WALChecksum(isBigEndian: words[0] & 1 == 1)
        sum.value = (words[6], words[7])
        guard write(head) else { return false }
        for frame in sound {
            guard
                var bytes = Self.read(
                    descriptor,
                    Self.frameHeadBytes + pageBytes,
                    at: frame.offset
                )
            else { return false }
            sum.add(bytes[..<8])
            sum.add(bytes[Self.frameHeadBytes...])
            for (index, word) in [sum.value.0, sum.value.1].enumerated() {
                withUnsafeBytes(of: word.bigEndian) {
                    bytes.replaceSubrange(16 + 4 * index..<20 + 4 * index, with: $0)
                }
            }
            guard write(bytes) else { return false }
        }
        return true
    }
}

/// The numbers of a head, which are big-endian.
private struct Words {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    subscript(_ index: Int) -> UInt32 {
        bytes[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// SQLite's, in the order of bytes that the log's head names.
struct WALChecksum {
    let isBigEndian: Bool
    var value: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count, by: 8) {
                value.0 &+= word(buffer, offset) &+ value.1
                value.1 &+= word(buffer, offset + 4) &+ value.0
            }
        }
    }

    private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
}

/// The head of a write-ahead log, which describes its frames.
///
/// The first frame determines a damaged head: it repeats the salts, and its checksum continues the
/// head's. Removing the frame's bytes from its checksum gives the head's, and removing the head's
/// known bytes from that gives the one number that nothing else records.
struct WALHeader {
    static let count = 32
    private static let magic: UInt32 = 0x377f_0682
    private static let version: UInt32 = 3_007_000

    let bytes: [UInt8]
    let isBigEndian: Bool
    let pageBytes: Int
    var frameBytes: Int { WALScan.frameHeadBytes + pageBytes }
    var salt: (UInt32, UInt32) { (BigEndianWords(bytes)[4], BigEndianWords(bytes)[5]) }
    var sum: WALChecksum {
        WALChecksum(isBigEndian: isBigEndian, (BigEndianWords(bytes)[6], BigEndianWords(bytes)[7]))
    }

    init?(_ bytes: [UInt8]) {
        let words = BigEndianWords(bytes)
        guard words[0] & ~1 == Self.magic, (512...65_536).contains(words[2]),
            words[2] & (words[2] - 1) == 0
        else { return nil }
        self.init(Array(bytes[..<24]), isBigEndian: words[0] & 1 == 1, pageBytes: Int(words[2]))
        guard self.bytes == bytes else { return nil }
    }

    /// Makes a head for frames that do not have checksums yet.
    init(pageBytes: Int, isBigEndian: Bool = false, salt: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1]) {
        let start = Self.start(pageBytes, isBigEndian: isBigEndian)
        self.init(start + [0, 0, 0, 0] + salt, isBigEndian: isBigEndian, pageBytes: pageBytes)
    }

    /// Adds the checksum behind the words.
    private init(_ words: [UInt8], isBigEndian: Bool, pageBytes: Int) {
        var sum = WALChecksum(isBigEndian: isBigEndian)
        sum.add(words[...])
        bytes = words + sum.value.0.bytes + sum.value.1.bytes
        self.isBigEndian = isBigEndian
        self.pageBytes = pageBytes
    }

    private static func start(_ pageBytes: Int, isBigEndian: Bool) -> [UInt8] {
        (magic | (isBigEndian ? 1 : 0)).bytes + version.bytes + UInt32(pageBytes).bytes
    }

    /// The head that the frames of a log must have had. Nil if they are no frames.
    static func rebuilt(_ read: (_ count: Int, _ offset: Int) -> [UInt8]?) -> WALHeader? {
        for pageBytes in (9...16).map({ 1 << $0 }) {
            let count = WALScan.frameHeadBytes + pageBytes
            guard let first = read(count, Self.count) else { return nil }
            for isBigEndian in [false, true] {
                if let head = before(first, pageBytes, isBigEndian) { return head }
                if let salt = salt(frameBytes: count, isBigEndian: isBigEndian, read) {
                    return WALHeader(pageBytes: pageBytes, isBigEndian: isBigEndian, salt: salt)
                }
            }
        }
        return nil
    }

    /// The head before a first frame. If the frame is damaged, 32 bits of the result do not match.
    private static func before(
        _ first: [UInt8],
        _ pageBytes: Int,
        _ isBigEndian: Bool
    ) -> WALHeader? {
        let words = BigEndianWords(first)
        let salt = first[8..<16]
        var sum = WALChecksum(isBigEndian: isBigEndian, (words[4], words[5]))
        sum.remove(first[WALScan.frameHeadBytes...])
        sum.remove(first[..<8])
        sum.remove(salt)
        let start = start(pageBytes, isBigEndian: isBigEndian)
        // With a sequence number of 0, so the result differs from the head's checksum by that
        // number.
        var known = WALChecksum(isBigEndian: isBigEndian)
        known.add((start + [0, 0, 0, 0])[...])
        guard known.value.0 == sum.value.0 else { return nil }
        let round = sum.value.1 &- known.value.1
        let number = (isBigEndian ? round : round.byteSwapped).bytes
        return WALHeader(start + number + salt, isBigEndian: isBigEndian, pageBytes: pageBytes)
    }

    /// If the first frame is lost too, the next ones have the salts. Frames far behind it may
    /// belong to the round before.
    private static func salt(
        frameBytes count: Int,
        isBigEndian: Bool,
        _ read: (_ count: Int, _ offset: Int) -> [UInt8]?
    ) -> [UInt8]? {
        var before = read(count, Self.count + count)
        for number in 2...17 {
            guard let frame = before, let next = read(count, Self.count + number * count) else {
                break
            }
            if isNext(next, to: frame, isBigEndian) { return Array(next[8..<16]) }
            // Each round has a salt one greater than the round before, so here a new round begins.
            guard BigEndianWords(frame)[2] != BigEndianWords(next)[2] &+ 1 else { break }
            before = next
        }
        return nil
    }

    private static func isNext(_ next: [UInt8], to frame: [UInt8], _ isBigEndian: Bool) -> Bool {
        // Zeroes follow zeroes and are not frames.
        guard next[8..<16] == frame[8..<16], BigEndianWords(next)[0] > 0 else { return false }
        var sum = WALChecksum(
            isBigEndian: isBigEndian,
            (BigEndianWords(frame)[4], BigEndianWords(frame)[5])
        )
        sum.add(next[..<8])
        sum.add(next[WALScan.frameHeadBytes...])
        return sum.value == (BigEndianWords(next)[4], BigEndianWords(next)[5])
    }
}

struct BigEndianWords {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    subscript(_ index: Int) -> UInt32 {
        bytes[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension UInt32 {
    var bytes: [UInt8] { withUnsafeBytes(of: bigEndian, Array.init) }
}

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

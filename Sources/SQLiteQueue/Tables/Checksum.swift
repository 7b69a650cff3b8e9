import SQLite

/// A 64-bit checksum of a row: its payload and the numbers that identify its owner.
///
/// Both halves of a step (xor with the word, multiplication by an odd number) are reversible, so
/// damage within one 8-byte word always changes the result. Any other damage escapes once in 2^64.
/// It runs at several GB/s, ten times the speed of a disk or LZ4. Someone who can rewrite the file
/// could rewrite a cryptographic digest too.
struct Checksum {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ word: UInt64) {
        value = (value ^ word) &* 0x9e37_79b9_7f4a_7c15
        // Multiplication only carries upwards; this brings the high bits down.
        value ^= value >> 32
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let words = bytes.count / 8
        for index in 0..<words {
            add(
                UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
                )
            )
        }
        var rest: UInt64 = 0
        for byte in bytes[(words * 8)...].reversed() { rest = rest << 8 | UInt64(byte) }
        add(rest)
        add(UInt64(bytes.count))
    }

    mutating func add(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { add($0) }
    }

    /// The value of the column `checksum`. It covers every count of replays but 0.
    static func of(
        _ payload: [UInt8],
        row: Int64,
        stream: Int64,
        logs: Int,
        raw: Int,
        replays: Int
    ) -> Int64 {
        var checksum = Checksum()
        for number in [row, stream, Int64(logs), Int64(raw)] {
            checksum.add(UInt64(bitPattern: number))
        }
        payload.withUnsafeBytes { checksum.add($0) }
        if replays != 0 { checksum.add(UInt64(bitPattern: Int64(replays))) }
        return Int64(bitPattern: checksum.value)
    }
}

/// The greatest plausible numbers. Only payloads have checksums, so a check of the size finds a
/// damaged number before it is used. Plausible numbers are too small to overflow a sum.
enum Plausible {
    /// Numbers, pack counters, sums of a destination. A million a second reach 2^53 in 285 years.
    static let counts: ClosedRange<Int64> = 0...(1 << 53)
    static let ids: ClosedRange<Int64> = 1...(1 << 53)
    /// Numbers of one row: SQLite and LZ4 hold no larger payloads.
    static let rowCounts: ClosedRange<Int64> = 0...(1 << 31)
}

extension Statement {
    /// The column's number. Throws if it is not in `range`, which means that the disk changed it.
    func integer(_ column: CInt, in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64 {
        let value = integer(column)
        guard range.contains(value) else {
            throw .damage("column \(column) cannot be \(value) in: \(sql)")
        }
        return value
    }
}

/// Numbers and texts with a checksum at the end, because the table of settings has none.
struct ProvedWriter {
    private var bytes: [UInt8] = []

    mutating func add(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    mutating func add(_ text: String) {
        add(Int64(text.utf8.count))
        bytes += text.utf8
    }

    var proved: [UInt8] {
        var writer = self
        writer.add(ProvedReader.checksum(bytes[...]))
        return writer.bytes
    }
}

struct ProvedReader {
    private var rest: ArraySlice<UInt8>

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        rest = bytes.suffix(8)
        let checksum = number()
        rest = bytes.dropLast(8)
        guard checksum == Self.checksum(rest) else { return nil }
    }

    fileprivate static func checksum(_ bytes: ArraySlice<UInt8>) -> Int64 {
        var checksum = Checksum()
        checksum.add(Array(bytes))
        return Int64(bitPattern: checksum.value)
    }

    mutating func number() -> Int64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
    }

    mutating func logs() -> [String: Int64]? {
        guard let count = number() else { return nil }
        var logs: [String: Int64] = [:]
        for _ in 0..<max(0, count) {
            guard let length = number(), 0...rest.count ~= Int(clamping: length) else {
                return nil
            }
            let name = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
            rest = rest.dropFirst(Int(length))
            guard let number = number() else { return nil }
            logs[name] = number
        }
        return logs
    }
}

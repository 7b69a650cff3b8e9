import CSQLite
import Glibc

/// What keeps the floor's rows until they are delivered.
protocol FloorStore {
    func begin()
    /// Adds a row to the open group.
    func append(_ block: [UInt8], rawBytes: Int)
    /// Returns once the group is on the disk.
    func commit()
    /// All rows that wait, in order.
    func readAll(_ body: (_ block: UnsafeRawBufferPointer, _ rawBytes: Int) -> Void)
    /// Removes the rows that were read, with the next group.
    func removeRead()
}

/// SQLite at its simplest: one table and one connection, with the settings of the gateway's queue.
final class SQLiteFloor: FloorStore {
    private var database: OpaquePointer?
    private var insertion: OpaquePointer?
    private var reading: OpaquePointer?
    private var deletion: OpaquePointer?
    private var lastID: Int64 = 0
    private var lastRead: Int64 = 0
    private var removed: Int64 = 0

    init(in directory: String) {
        check(sqlite3_open("\(directory)/floor.db", &database))
        // For the reasons, see the queue's `Pragmas`.
        for setting in [
            "page_size = 8192", "auto_vacuum = INCREMENTAL", "journal_mode = WAL",
            "synchronous = FULL", "secure_delete = OFF", "cache_size = -8192", "mmap_size = 0",
            "cell_size_check = ON", "journal_size_limit = \(32 << 20)",
            // The queue's log at full load: 16 MiB.
            "wal_autocheckpoint = \((16 << 20) / 8192)",
        ] {
            run("PRAGMA \(setting)")
        }
        run("CREATE TABLE rows(id INTEGER PRIMARY KEY, raw INTEGER, payload BLOB)")
        insertion = prepare("INSERT INTO rows(id, raw, payload) VALUES(?, ?, ?)")
        reading = prepare("SELECT id, raw, payload FROM rows WHERE id > ? ORDER BY id")
        deletion = prepare("DELETE FROM rows WHERE id <= ?")
    }

    func begin() {
        run("BEGIN IMMEDIATE")
        guard lastRead > removed else { return }
        sqlite3_bind_int64(deletion, 1, lastRead)
        step(deletion)
        removed = lastRead
    }

    func append(_ block: [UInt8], rawBytes: Int) {
        lastID += 1
        block.withUnsafeBytes { bytes in
            sqlite3_bind_int64(insertion, 1, lastID)
            sqlite3_bind_int64(insertion, 2, Int64(rawBytes))
            sqlite3_bind_blob64(insertion, 3, bytes.baseAddress, UInt64(bytes.count), nil)
            step(insertion)
        }
    }

    func commit() {
        run("COMMIT")
    }

    func readAll(_ body: (_ block: UnsafeRawBufferPointer, _ rawBytes: Int) -> Void) {
        sqlite3_bind_int64(reading, 1, lastRead)
        while sqlite3_step(reading) == SQLITE_ROW {
            lastRead = sqlite3_column_int64(reading, 0)
            let block = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(reading, 2),
                count: Int(sqlite3_column_bytes(reading, 2))
            )
            body(block, Int(sqlite3_column_int64(reading, 1)))
        }
        sqlite3_reset(reading)
    }

    /// The next transaction does it: one of its own would be one more sync.
    func removeRead() {}

    private func run(_ statement: String) {
        check(sqlite3_exec(database, statement, nil, nil, nil))
    }

    private func step(_ statement: OpaquePointer?) {
        check(sqlite3_step(statement))
        sqlite3_reset(statement)
    }

    private func prepare(_ text: String) -> OpaquePointer? {
        var statement: OpaquePointer?
        check(sqlite3_prepare_v2(database, text, -1, &statement, nil))
        return statement
    }

    private func check(_ code: CInt) {
        guard code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW else {
            fatalError("SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
    }
}

/// What the disk itself allows: a file that is overwritten from the beginning when its end is
/// reached, a checksum for each group, and one write and one sync.
final class FileFloor: FloorStore {
    /// As much as the queue's log has at full load.
    private static let fileBytes = 16 << 20
    private static let headBytes = 32
    private static let rowHeadBytes = 16

    private let file: CInt
    private var group: [UInt8] = []
    private var position = 0
    /// Where the groups that wait lie.
    private var waiting: [Range<Int>] = []
    /// A number that the next group repeats: what a restart would not deliver again.
    private var removedGroups = 0
    private(set) var syncs: [Double] = []

    init(in directory: String) {
        file = open("\(directory)/floor.log", O_RDWR | O_CREAT | O_TRUNC, 0o600)
        // A sync of bytes that are overwritten has no metadata to write.
        let zeroes = [UInt8](repeating: 0, count: 1 << 20)
        for part in 0..<(Self.fileBytes >> 20) { write(zeroes, at: part << 20) }
        guard fsync(file) == 0 else { fatalError("the floor's file cannot be synced") }
    }

    func begin() {
        group.removeAll(keepingCapacity: true)
        group.append(contentsOf: repeatElement(0, count: Self.headBytes))
    }

    func append(_ block: [UInt8], rawBytes: Int) {
        for number in [block.count, rawBytes] {
            withUnsafeBytes(of: number.littleEndian) { group.append(contentsOf: $0) }
        }
        group.append(contentsOf: block)
    }

    func commit() {
        let count = group.count
        group.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: removedGroups, toByteOffset: 8, as: Int.self)
            bytes.storeBytes(of: count, toByteOffset: 16, as: Int.self)
            let sum = checksum(UnsafeRawBufferPointer(rebasing: bytes[8...]))
            bytes.storeBytes(of: sum, as: UInt64.self)
        }
        if position + count > Self.fileBytes { position = 0 }
        write(group, at: position)
        let began = clock(CLOCK_MONOTONIC)
        guard fdatasync(file) == 0 else { fatalError("the floor's file cannot be synced") }
        syncs.append(clock(CLOCK_MONOTONIC) - began)
        waiting.append(position..<position + count)
        position += count
    }

    func readAll(_ body: (_ block: UnsafeRawBufferPointer, _ rawBytes: Int) -> Void) {
        for range in waiting {
            withUnsafeTemporaryAllocation(byteCount: range.count, alignment: 8) { bytes in
                guard pread(file, bytes.baseAddress, range.count, range.lowerBound) == range.count,
                    bytes.load(as: UInt64.self)
                        == checksum(UnsafeRawBufferPointer(rebasing: bytes[8...]))
                else { fatalError("a stored group is corrupt") }
                var at = Self.headBytes
                while at < bytes.count {
                    let count = bytes.loadUnaligned(fromByteOffset: at, as: Int.self)
                    let rawBytes = bytes.loadUnaligned(fromByteOffset: at + 8, as: Int.self)
                    at += Self.rowHeadBytes
                    body(UnsafeRawBufferPointer(rebasing: bytes[at..<at + count]), rawBytes)
                    at += count
                }
            }
        }
    }

    func removeRead() {
        removedGroups += waiting.count
        waiting.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8], at position: Int) {
        guard pwrite(file, bytes, bytes.count, position) == bytes.count else {
            fatalError("the floor's file cannot be written")
        }
    }
}

/// Four lanes, so that the processor multiplies them side by side.
private func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var lanes = SIMD4<UInt64>(1, 2, 3, 4)
    var at = 0
    while at + 32 <= bytes.count {
        for lane in 0..<4 {
            let word = bytes.loadUnaligned(fromByteOffset: at + lane * 8, as: UInt64.self)
            lanes[lane] = (lanes[lane] ^ word) &* 0x9e37_79b9_7f4a_7c15
            lanes[lane] ^= lanes[lane] >> 32
        }
        at += 32
    }
    var sum = lanes[0] ^ lanes[1] &* 3 ^ lanes[2] &* 5 ^ lanes[3] &* 7
    while at < bytes.count {
        sum = (sum ^ UInt64(bytes[at])) &* 0x9e37_79b9_7f4a_7c15
        at += 1
    }
    return sum
}

func clock(_ kind: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(kind, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

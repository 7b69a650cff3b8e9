import CSQLite
import Glibc
import Synchronization
import System
import TestSupport

/// Makes the disk fail under one directory, as SQLite sees it: its file methods are replaced by
/// ones that fail when told so. Only for directories whose path contains `faulty`.
enum DiskFault: Int {
    case none
    case full
    case writeError
    case syncError

    static func set(_ fault: DiskFault) {
        install
        current.store(fault.rawValue, ordering: .sequentiallyConsistent)
    }

    fileprivate static var now: DiskFault {
        DiskFault(rawValue: current.load(ordering: .sequentiallyConsistent)) ?? .none
    }

    private static let current = Atomic<Int>(0)

    private static let install: Void = {
        guard let vfs = sqlite3_vfs_find(nil) else { return }
        openFile = vfs.pointee.xOpen
        vfs.pointee.xOpen = { vfs, name, file, flags, flagsOut in
            let code = openFile?(vfs, name, file, flags, flagsOut) ?? SQLITE_ERROR
            if let file { mark(file, name.map { String(cString: $0) } ?? "") }
            guard code == SQLITE_OK, let name, let file,
                let original = file.pointee.pMethods,
                String(cString: name).contains("faulty")
            else { return code }
            file.pointee.pMethods = failing(original)
            return code
        }
    }()

    /// Of one file, whatever its name: 512 bytes that cannot be read, for ever or so many times.
    struct BadSector {
        let inode: UInt
        let offset: Int64
        /// A part of the name under which the file is opened.
        let name: String
        fileprivate(set) var times: Int
        fileprivate(set) var files: Set<UInt> = []

        init(in path: String, at offset: Int64, openedAs name: String = "", times: Int = .max) {
            inode = DiskFault.inode(path)
            self.offset = offset
            self.name = name
            self.times = times
        }
    }

    /// How often the bad sector will still fail; 0 without one.
    static var failuresLeft: Int { badSector.withLock { $0?.times ?? 0 } }

    static func spoil(_ sector: BadSector?) {
        badSector.withLock { $0 = sector }
    }

    private static let badSector = Locked<BadSector?>(nil)

    private static func inode(_ path: String) -> UInt {
        var about = stat()
        return stat(path, &about) == 0 ? UInt(about.st_ino) : 0
    }

    private static func mark(_ file: UnsafeMutablePointer<sqlite3_file>, _ path: String) {
        badSector.withLock { sector in
            guard let inode = sector?.inode, let name = sector?.name else { return }
            let address = UInt(bitPattern: file)
            if DiskFault.inode(path) == inode, name.isEmpty || path.contains(name) {
                sector?.files.insert(address)
            } else {
                sector?.files.remove(address)
            }
        }
    }

    fileprivate static func isBad(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ range: Range<Int64>
    ) -> Bool {
        badSector.withLock { sector in
            guard let bad = sector, bad.files.contains(UInt(bitPattern: file)), bad.times > 0,
                range.overlaps(bad.offset..<bad.offset + 512)
            else { return false }
            sector?.times -= 1
            return true
        }
    }

    /// The kinds of files have methods of their own; each gets one copy that fails, which stays.
    private static let copies = Locked<[UInt: UInt]>([:])

    private static func failing(
        _ original: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods>? {
        let address = UInt(bitPattern: original)
        let copied = copies.withLock { copies in
            if let known = copies[address] { return known }
            let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
            copy.initialize(to: original.pointee)
            writeFile = original.pointee.xWrite
            syncFile = original.pointee.xSync
            readFile = original.pointee.xRead
            copy.pointee.xRead = { file, bytes, count, offset in
                if DiskFault.isBad(file, offset..<offset + Int64(count)) {
                    return SQLITE_IOERR | 1 << 8
                }
                return readFile?(file, bytes, count, offset) ?? SQLITE_ERROR
            }
            copy.pointee.xWrite = { file, bytes, count, offset in
                switch DiskFault.now {
                case .full: SQLITE_FULL
                case .writeError: SQLITE_IOERR | 3 << 8
                case .none, .syncError: writeFile?(file, bytes, count, offset) ?? SQLITE_ERROR
                }
            }
            copy.pointee.xSync = { file, flags in
                if DiskFault.now == .syncError { return SQLITE_IOERR | 4 << 8 }
                return syncFile?(file, flags) ?? SQLITE_ERROR
            }
            copies[address] = UInt(bitPattern: copy)
            return UInt(bitPattern: copy)
        }
        return UnsafePointer(bitPattern: copied)
    }
}

// C callbacks capture nothing, so these are global. They are set while the first database of the
// one suite that uses them opens, always to the same values, and only read afterwards.
nonisolated(unsafe) private var openFile:
    (
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?,
            UnsafeMutablePointer<sqlite3_file>?, CInt, UnsafeMutablePointer<CInt>?
        ) -> CInt
    )?
nonisolated(unsafe) private var readFile:
    (
        @convention(c) (
            UnsafeMutablePointer<sqlite3_file>?, UnsafeMutableRawPointer?, CInt, sqlite3_int64
        ) -> CInt
    )?
nonisolated(unsafe) private var writeFile:
    (
        @convention(c) (
            UnsafeMutablePointer<sqlite3_file>?, UnsafeRawPointer?, CInt, sqlite3_int64
        ) -> CInt
    )?
nonisolated(unsafe) private var syncFile:
    (@convention(c) (UnsafeMutablePointer<sqlite3_file>?, CInt) -> CInt)?

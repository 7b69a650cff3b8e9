import CSQLite
import Glibc
import Synchronization
import System

/// Makes the disk fail under one directory, as SQLite sees it: its file methods are replaced by ones that
/// fail when told so. Only for directories whose path contains `faulty`.
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
            guard code == SQLITE_OK, let name, let file,
                let original = file.pointee.pMethods,
                String(cString: name).contains("faulty")
            else { return code }
            file.pointee.pMethods = failing(original)
            return code
        }
    }()

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

// C callbacks capture nothing, so these are global. They are set while the first database of the one suite
// that uses them opens, always to the same values, and only read afterwards.
nonisolated(unsafe) private var openFile:
    (
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?,
            UnsafeMutablePointer<sqlite3_file>?, CInt, UnsafeMutablePointer<CInt>?
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

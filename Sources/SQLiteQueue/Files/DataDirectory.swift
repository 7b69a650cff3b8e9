import Glibc
import Queue
import SQLite
import System

/// The queue's directory and the names in it.
struct DataDirectory {
    let path: String
    /// A copy of what a commit log has. It never takes the name of a queue that lasts.
    var isScratch = false

    var database: String { path + (isScratch ? "/scratch.db" : "/queue.db") }
    var lock: String { path + "/sluice.lock" }
    /// A copy of the scratch database on its way into the commit log.
    var base: String { path + "/base.db" }
    /// The same with its free pages.
    var baseDraft: String { path + "/base.draft" }
    /// A database that is restored from a log and not whole yet.
    var restoreDraft: String { path + "/restore.draft" }

    /// Removes a base, also one that a process left that was killed.
    func removeBase() {
        for suffix in ["", "-journal"] { unlink(base + suffix) }
        removeBaseDraft()
    }

    func removeBaseDraft() {
        for suffix in ["", "-wal", "-shm"] { unlink(baseDraft + suffix) }
    }

    /// The number of an entry that the commit log had.
    var position: String { path + "/scratch.position" }

    /// The place of a database of an older schema after its migration.
    func older(_ schema: Int) -> String { path + "/queue.schema-\(schema).db" }

    /// Creates the directory and its missing parents. Only the owner may look inside.
    func create() throws(QueueError) {
        var parents = path[...]
        var missing: [String] = []
        while !parents.isEmpty, access(String(parents), F_OK) != 0, errno == ENOENT {
            missing.append(String(parents))
            guard let slash = parents.lastIndex(of: "/") else { break }
            parents = parents[..<slash]
        }
        for directory in missing.reversed() {
            guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
                throw problem("cannot be created", errno)
            }
            try sync(Self.parent(of: directory))
        }
        var about = stat()
        guard stat(path, &about) == 0 else { throw problem("cannot be used", errno) }
        guard about.st_mode & S_IFMT == S_IFDIR else {
            throw QueueError(.directory, "\(path) is not a directory; set data_dir to one.")
        }
        guard access(path, W_OK | X_OK) == 0 else { throw problem("cannot be written", errno) }
    }

    func problem(_ what: String, _ code: CInt) -> QueueError {
        let remedy =
            switch code {
            case EROFS: "mount it writable or set data_dir (--data-dir) to another place"
            case EACCES, EPERM: "give it to the user that runs sluice or set data_dir elsewhere"
            case ENOSPC, EDQUOT: "free some space"
            case EIO: "check the disk"
            default: "set data_dir to a directory that this user can write"
            }
        return QueueError(
            .directory,
            "\(path)\(start) \(what): \(String(cString: strerror(code))); \(remedy)."
        )
    }

    /// Where a relative path begins: operators do not remember where a service was started.
    private var start: String {
        guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return "" }
        defer { free(here) }
        return " (in \(String(cString: here)))"
    }

    /// Before SQLite would, so that only the owner can read it. The log gets the same permissions.
    func createDatabaseFile() throws(QueueError) {
        _ = try opened(database, O_CREAT | O_RDWR, "cannot hold queue.db")
    }

    func opened(
        _ path: String,
        _ flags: CInt,
        _ what: String
    ) throws(QueueError) -> OwnedDescriptor {
        do throws(SystemError) {
            return try OwnedDescriptor(opening: path, flags)
        } catch {
            throw problem(what, error.code)
        }
    }

    /// Removes a scratch database, which the commit log has.
    func removeDatabase() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(database + suffix) }
    }

    /// Makes what was restored the scratch database.
    func useRestored() throws(SQLiteError) {
        removeDatabase()
        try withSystemErrors(of: database) { () throws(SystemError) in
            _ = try system("rename") { rename(restoreDraft, database) }
        }
    }

    func dropRestored() { unlink(restoreDraft) }

    /// An entry that a commit log had; nil: none is known here.
    var knownPosition: (entry: UInt64, log: String)? {
        guard let content = try? fileContent(position, bytesMax: 1024) else { return nil }
        let line = String(decoding: content, as: UTF8.self).prefix { $0 != "\n" }
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let entry = UInt64(words[0]), entry < UInt64(Int64.max) else {
            return nil
        }
        return (entry, String(words[1]))
    }

    /// Without a sync, and without an error: it only helps to notice that the log has lost its end.
    func know(entry: UInt64, of log: String) {
        let file = try? OwnedDescriptor(opening: position, O_CREAT | O_WRONLY | O_TRUNC)
        guard let file else { return }
        let line = Array("\(entry) \(log)\n".utf8)
        _ = line.withUnsafeBytes { write(file.number, $0.baseAddress, $0.count) }
    }

    var names: [String] { fileNames(in: path) }

    /// The name of a file in the directory, without its path.
    func name(of file: String) -> String { String(file.dropFirst(path.count + 1)) }

    /// Syncs the directory: a new name is durable only after its directory is synced.
    func sync() throws(QueueError) {
        try sync(path)
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private func sync(_ path: String) throws(QueueError) {
        do throws(SystemError) {
            try syncFile(path)
        } catch {
            throw problem("cannot be synced", error.code)
        }
    }
}

extension OwnedDescriptor {
    /// A file that its creator alone may read, and that no program that is started inherits.
    init(opening path: String, _ flags: CInt) throws(SystemError) {
        self.init(taking: try system("open") { open(path, flags | O_CLOEXEC, 0o600) })
    }
}

func syncFile(_ path: String) throws(SystemError) {
    let file = try OwnedDescriptor(opening: path, O_RDONLY)
    _ = try system("fsync") { fsync(file.number) }
}

/// The errors of the calls name the path.
func withSystemErrors<Value: ~Copyable>(
    of path: String,
    _ calls: () throws(SystemError) -> Value
) throws(SQLiteError) -> Value {
    do throws(SystemError) {
        return try calls()
    } catch {
        throw .system(error, path)
    }
}

func fileSize(_ path: String) -> Int? {
    var about = stat()
    return stat(path, &about) == 0 ? Int(about.st_size) : nil
}

enum SQLiteCompanions {
    /// The missing files of these. A caller that opens the database alone removes them afterwards.
    static func missing(of database: String) -> [String] {
        ["-wal", "-shm"].map { database + $0 }.filter { fileSize($0) == nil }
    }
}

package struct DiskSpace {
    private let path: String
    /// A smaller size of the disk for the directory. Tests use it to make disks small.
    private let bytesMax: Int?
    private(set) var freeBytes = Int.max

    init(_ path: String, bytesMax: Int? = nil) {
        self.path = path
        self.bytesMax = bytesMax
    }

    package static func free(in path: String) -> Int {
        var space = DiskSpace(path)
        space.look()
        return space.freeBytes
    }

    /// Asks the kernel for the free space. Costs a microsecond; called once a transaction.
    mutating func look() {
        var about = statvfs()
        guard statvfs(path, &about) == 0 else { return }
        let (free, overflow) = Int(clamping: about.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: about.f_frsize))
        freeBytes = overflow ? .max : free
        if let bytesMax { freeBytes = max(0, min(freeBytes, bytesMax - takenBytes)) }
    }

    /// The bytes of the directory's files. A file with several names counts once.
    private var takenBytes: Int {
        var taken: [UInt: Int] = [:]
        for name in DataDirectory(path: path).names {
            var about = stat()
            guard stat("\(path)/\(name)", &about) == 0 else { continue }
            taken[UInt(about.st_ino)] = Int(about.st_blocks) * 512
        }
        return taken.values.reduce(0, +)
    }
}

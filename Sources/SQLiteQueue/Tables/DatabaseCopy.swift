import Glibc
import SQLite
import System

/// A copy of a whole database at one moment. It is written under another name and gets its own name
/// after it is on the disk, so a copy with its name is complete.
struct DatabaseCopy {
    let path: String

    /// The copy's name while it is written, in the same file system.
    let draft: String

    init(to path: String, draft: String? = nil) {
        self.path = path
        self.draft = draft ?? path + ".new"
    }

    /// The size of a copy: all pages but the free ones, and a little for rounding.
    static func bytes(_ connection: Connection) throws(SQLiteError) -> Int {
        let pages = try connection.integer("PRAGMA page_count")
        let free = try connection.integer("PRAGMA freelist_count")
        let size = try connection.integer("PRAGMA page_size")
        return Int(max(0, pages - free) * size) + 1 << 20
    }

    /// Throws `full` if the file system has no room for a copy.
    func checkRoom(for connection: Connection) throws(SQLiteError) {
        let bytes = try Self.bytes(connection)
        let free = DiskSpace.free(in: DataDirectory.parent(of: path))
        guard free < bytes else { return }
        throw .full(.unsuitable("a copy takes \(bytes) bytes, and \(free) are free"))
    }

    /// Writes the draft in one transaction, with a cache in memory. Others may write meanwhile.
    func write(_ connection: Connection) throws(SQLiteError) {
        try withSystemErrors(of: draft) { () throws(SystemError) in
            _ = try OwnedDescriptor(opening: draft, O_CREAT | O_EXCL | O_WRONLY)
        }
        do throws(SQLiteError) {
            let copy = try connection.prepare("VACUUM INTO ?")
            copy.bind(1, draft)
            try copy.run()
            try syncDraft()
        } catch {
            discard()
            throw error
        }
    }

    func syncDraft() throws(SQLiteError) { try Self.sync(draft) }

    /// Removes the draft, including one that an earlier process left.
    func discard() {
        for suffix in ["", "-journal"] { unlink(draft + suffix) }
    }

    /// Gives the copy its name and replaces an earlier one.
    func publish() throws(SQLiteError) {
        do throws(SystemError) {
            _ = try system("rename") { rename(draft, path) }
        } catch {
            discard()
            throw .system(error, path)
        }
        try Self.sync(DataDirectory.parent(of: path))
    }

    /// Gives the copy its name, unless something already has that name.
    func publishIfAbsent() throws(SQLiteError) {
        do throws(SystemError) {
            // A rename would replace an existing file. Not every file system has links.
            _ = try system("link") { link(draft, path) }
        } catch {
            let hasNoLinks = [EPERM, EOPNOTSUPP, ENOSYS].contains(error.code)
            if hasNoLinks, access(path, F_OK) != 0 { return try publish() }
            discard()
            throw .system(error, path)
        }
        unlink(draft)
        try Self.sync(DataDirectory.parent(of: path))
    }

    /// SQLite leaves the sync of the directory to its caller.
    private static func sync(_ path: String) throws(SQLiteError) {
        try withSystemErrors(of: path) { () throws(SystemError) in try syncFile(path) }
    }
}

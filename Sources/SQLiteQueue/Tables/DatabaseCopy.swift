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

    /// Writes the draft, readable only by its owner. SQLite reads in one transaction and holds no
    /// more than a cache in memory. Another connection may write meanwhile.
    func write(_ connection: Connection) throws(SQLiteError) {
        let draft = draft
        do throws(SystemError) {
            _ = OwnedDescriptor(
                taking: try system("open") {
                    open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
                }
            )
        } catch {
            throw .system(error, draft)
        }
        do throws(SQLiteError) {
            let copy = try connection.prepare("VACUUM INTO ?")
            copy.bind(1, draft)
            try copy.run()
            try Self.sync(draft)
        } catch {
            discard()
            throw error
        }
    }

    /// Syncs a draft that was changed after `write`.
    func syncDraft() throws(SQLiteError) { try Self.sync(draft) }

    /// Removes the draft, including one that an earlier process left.
    func discard() {
        for suffix in ["", "-journal"] { unlink(draft + suffix) }
    }

    /// Gives the copy its name and replaces an earlier one.
    func publish() throws(SQLiteError) {
        let (draft, path) = (draft, path)
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
        let (draft, path) = (draft, path)
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

    /// Syncs the directory: SQLite leaves that to its caller.
    private static func sync(_ path: String) throws(SQLiteError) {
        do throws(SystemError) {
            let file = OwnedDescriptor(
                taking: try system("open") { open(path, O_RDONLY | O_CLOEXEC) }
            )
            let number = file.number
            _ = try system("fsync") { fsync(number) }
        } catch {
            throw .system(error, path)
        }
    }
}

import Glibc
import System

// A damaged database is replaced so that a crash at any point loses neither the old files nor what was
// saved of them: while `queue.db` exists it is the truth; once it is gone, `queue.salvage.db` is complete.
extension DataDirectory {
    /// Where the new database grows while the old one is still in place.
    var salvage: String { path + "/queue.salvage.db" }

    private static let companions = ["", "-wal"]

    /// Gives the database's files a second name that stays. Returns it.
    func linkAside(_ time: WallTime) throws(QueueError) -> String {
        let stamp = time.rfc3339.filter { $0.isNumber }.prefix(14)
        var aside = "\(path)/queue.corrupt-\(stamp).db"
        var attempt = 1
        while isTaken(aside) {
            attempt += 1
            aside = "\(path)/queue.corrupt-\(stamp)-\(attempt).db"
        }
        do throws(QueueError) {
            try linkFiles(to: aside)
        } catch {
            unlinkAside(aside)
            throw error
        }
        try sync()
        return aside
    }

    private func isTaken(_ aside: String) -> Bool {
        let names = Self.companions.map { aside + $0 } + [Self.damagedLog(of: aside)]
        return names.contains { access($0, F_OK) == 0 }
    }

    /// Takes the second name away again, while the first still stands: the next attempt gives another.
    func unlinkAside(_ aside: String) {
        guard access(database, F_OK) == 0 else { return }
        for suffix in Self.companions + ["-shm"] { unlink(aside + suffix) }
        unlink(Self.damagedLog(of: aside))
    }

    /// Puts the saved database in the place of the damaged one. Also finishes what a crash interrupted.
    func replaceDamaged() throws(QueueError) {
        unlink(database)
        try sync()
        // The old log must never meet the new database, not even where a file system forgets the one change in a
        // power cut and keeps the other.
        for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
        try sync()
        guard rename(salvage, database) == 0 else {
            throw problem("cannot hold a new queue.db", errno)
        }
        try sync()
    }

    /// Looks for what a crash during a salvage left behind.
    func settleSalvage() throws(QueueError) {
        guard access(salvage, F_OK) == 0 else { return }
        if access(database, F_OK) == 0 {
            removeSalvage()
        } else {
            try replaceDamaged()
        }
    }

    /// The index of a log is built anew by whoever opens it.
    func removeIndex(of database: String) {
        unlink(database + "-shm")
    }

    func removeSalvage() {
        for suffix in ["", "-wal", "-shm"] { unlink(salvage + suffix) }
    }
}

import Glibc
import Queue
import TestSupport
import Testing

@testable import SQLiteQueue

/// Root looks at queues, too; what it opens there may have been put by whoever took over the
/// queue's user.
@Suite(.timeLimit(.minutes(10))) struct DataDirectoryTests {
    let directory = TemporaryDirectory()
    let elsewhere = TemporaryDirectory()

    @Test(
        "A lock that is a link is refused, and what it leads to stays as it is",
        arguments: [true, false]
    )
    func link(isSymbolic: Bool) throws {
        let target = elsewhere.path + "/precious"
        writeFile(target, Array("precious".utf8))
        var before = stat()
        #expect(stat(target, &before) == 0)
        let lock = directory.path + "/sluice.lock"
        // A link that is no symbolic one is a user's own unless root looks.
        guard isSymbolic || chown(directory.path, 65_532, 65_532) == 0 else { return }
        #expect((isSymbolic ? symlink(target, lock) : Glibc.link(target, lock)) == 0)
        #expect(throws: QueueError.self) { _ = try DirectoryLock(directory.path) }
        var after = stat()
        #expect(stat(target, &after) == 0)
        #expect(readFile(target) == Array("precious".utf8))
        #expect(before.st_uid == after.st_uid && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
    }

    @Test("A pipe in its place holds nobody up")
    func pipe() throws {
        #expect(mkfifo(directory.path + "/sluice.lock", 0o600) == 0)
        #expect(throws: QueueError.self) { _ = try DirectoryLock(directory.path) }
    }

    @Test("A directory that cannot be used is named with where it begins, and with what helps")
    func problem() {
        let absolute = DataDirectory(path: "/nowhere/data").problem("cannot be created", EROFS)
        #expect(absolute.description.hasPrefix("/nowhere/data cannot be created: Read-only"))
        #expect(absolute.description.contains("--data-dir"))
        let relative = DataDirectory(path: "sluice-data").problem("cannot be created", EROFS)
        #expect(relative.description.hasPrefix("sluice-data (in /"), "\(relative.description)")
    }
}

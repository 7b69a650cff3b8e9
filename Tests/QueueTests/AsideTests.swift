import Glibc
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// The names under which a damaged database is kept.
@Suite(.timeLimit(.minutes(1))) struct AsideTests {
    let directory = TemporaryDirectory()

    @Test("A name of which a crash or a power cut left a part behind is not taken again")
    func halfTaken() throws {
        for name in ["queue.db", "queue.db-wal", "queue.corrupt-20260102030405.db-wal"] {
            let descriptor = open("\(directory.path)/\(name)", O_CREAT | O_WRONLY, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
        }

        let time = WallTime(seconds: 1_767_323_045)
        let aside = try DataDirectory(path: directory.path).linkAside(time)

        #expect(aside == "\(directory.path)/queue.corrupt-20260102030405-2.db")
        #expect(directory.names.contains("queue.corrupt-20260102030405-2.db-wal"))
    }
}

import Glibc
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(2))) struct KeeperFileTests {
    private let time = ManualClock(at: Samples.now)

    private func keeper(_ path: String) throws -> CredentialKeeper {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        try keeper.replace(["default": .file(FileSource(path: path))])
        return keeper
    }

    private func comes(_ number: Int, _ keeper: CredentialKeeper) -> Bool {
        time.advance(.seconds(1))
        return time.wait { keeper.credential(named: "default") == Samples.issued(number) }
    }

    @Test("A file that is replaced is read again")
    func renamed() throws {
        let directory = TemporaryDirectory()
        directory.replace("key", "{\(Samples.members(1))}")
        let keeper = try keeper("\(directory.path)/key")
        defer { keeper.stop() }
        #expect(comes(1, keeper))
        directory.replace("key", "{\(Samples.members(2))}")
        #expect(comes(2, keeper))
        directory.file("key", "{\(Samples.members(3))}")
        #expect(comes(3, keeper))
    }

    @Test("So is one behind a link that is turned, as Kubernetes does it")
    func linked() throws {
        let directory = TemporaryDirectory()
        for number in 1...2 {
            mkdir("\(directory.path)/..v\(number)", 0o700)
            directory.replace("..v\(number)/key", "{\(Samples.members(number))}")
        }
        symlink("..v1", "\(directory.path)/..data")
        symlink("..data/key", "\(directory.path)/key")
        let keeper = try keeper("\(directory.path)/key")
        defer { keeper.stop() }
        #expect(comes(1, keeper))
        symlink("..v2", "\(directory.path)/..data_tmp")
        rename("\(directory.path)/..data_tmp", "\(directory.path)/..data")
        #expect(comes(2, keeper))
    }

    @Test("A half-written file leaves the old credential in use and says so")
    func halfWritten() throws {
        let directory = TemporaryDirectory()
        directory.replace("key", "{\(Samples.members(1))}")
        let keeper = try keeper("\(directory.path)/key")
        defer { keeper.stop() }
        #expect(comes(1, keeper))
        directory.file("key", "{\(Samples.members(2).dropLast(20))")
        time.advance(.seconds(1))
        #expect(time.wait { keeper.status[0].failures > 0 })
        #expect(keeper.credential(named: "default") == Samples.issued(1))
        #expect(keeper.status[0].lastProblem?.what.contains("not whole JSON") == true)
        directory.file("key", "{\(Samples.members(2))}")
        #expect(comes(2, keeper))
        #expect(time.wait { keeper.status[0].lastProblem == nil })
    }

    @Test("A file that is not there yet is read when it comes, and one that goes is missed")
    func late() throws {
        let directory = TemporaryDirectory()
        let keeper = try keeper("\(directory.path)/key")
        defer { keeper.stop() }
        #expect(time.wait { keeper.status[0].failures == 1 })
        #expect(keeper.status[0].state == .missing)
        directory.replace("key", "{\(Samples.members(1))}")
        #expect(comes(1, keeper))
        unlink("\(directory.path)/key")
        time.advance(.seconds(1))
        #expect(time.wait { keeper.status[0].failures > 0 })
        #expect(keeper.credential(named: "default") == Samples.issued(1))
    }
}

import Crypto
import Glibc
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct KeeperFileTests {
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

/// A host whose clock is wrong, and is set right while a source goes on giving the same credential.
@Suite(.timeLimit(.minutes(10))) struct KeeperClockTests {
    /// The metadata service, whose clock is right.
    private func metadata(_ time: ManualClock, behind offset: Locked<Duration>) throws -> StandIn {
        try StandIn { request, _ in
            guard request.method == "GET" else { return .json(404, "") }
            let date = time.now + offset.withLock { $0 }
            return request.path.hasSuffix("/log-writer")
                ? .json(200, Samples.metadataAnswer(), date: date)
                : .json(200, "log-writer", date: date)
        }
    }

    @Test(
        "A clock that is set right moves the end of a credential that stays the same",
        arguments: [Duration.seconds(5 * 3600), .seconds(-8 * 3600)]
    )
    func corrected(offset: Duration) throws {
        let time = ManualClock(at: Samples.now + (.zero - offset))
        let behind = Locked(offset)
        let server = try metadata(time, behind: behind)
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, metadata: server.url))
        defer { keeper.stop() }
        try keeper.replace(["default": .ecsRole(ECSRole())])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        #expect(keeper.status[0].secondsLeft == 21_600)
        let due = keeper.status[0].nextTry

        behind.withLock { $0 = .zero }
        time.step(offset)
        #expect(time.wait { keeper.status[0].secondsLeft == 21_600 })
        #expect(time.wait { keeper.status[0].nextTry == due.map { $0 + offset } })
        time.advance(.seconds(2 * 3600))
        #expect(keeper.credential(named: "default") == Samples.issued())
        #expect(time.wait { keeper.status[0].state == .ok })
    }

    @Test(
        "A clock that is set by half an hour, either way, has its source asked",
        arguments: [Duration.seconds(1800), .seconds(-1800), .seconds(-86_400)]
    )
    func steps(step: Duration) throws {
        let time = ManualClock(at: Samples.now)
        let server = try StandIn { _, number in
            .json(200, Samples.stsAnswer(number + 1, until: time.now + .seconds(3600)))
        }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
        defer { keeper.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        try keeper.replace(["default": .assumeRole(role)])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        // The planned time is still ahead, by the new clock as by the old one.
        time.advance(.seconds(2400))
        #expect(server.requests.now.count == 1)
        time.step(step)
        #expect(server.requests.wait { $0.count == 2 })
        #expect(time.wait { keeper.status[0].secondsLeft == 3600 })
    }
}

/// What happens after SLS refused a credential, and how a source that gives nothing shows.
@Suite(.timeLimit(.minutes(10))) struct KeeperRefusalTests {
    private let time = ManualClock(at: Samples.now)

    @Test("A source that goes on giving what SLS refuses is asked again and again until it differs")
    func sameAgain() throws {
        let isRenewed = Locked(false)
        let server = try StandIn { _, _ in
            .json(200, "{\(Samples.members(isRenewed.withLock { $0 } ? 2 : 1))}")
        }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        defer { keeper.stop() }
        try keeper.replace(["default": .uri(URISource(uri: Secret(server.url)))])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        keeper.noteRefusal("default", of: Samples.issued(1))
        time.advance(.seconds(10))
        #expect(server.requests.wait { $0.count == 2 })
        let second = time.now
        #expect(time.wait { keeper.status[0].nextTry.map { $0 <= second + .seconds(60) } == true })
        #expect(keeper.status[0].state == .refused)
        time.advance(.seconds(60))
        #expect(server.requests.wait { $0.count == 3 })
        #expect(time.wait { keeper.status[0].nextTry.map { $0 > time.now } == true })

        isRenewed.withLock { $0 = true }
        time.advance(.seconds(300))
        #expect(time.wait { keeper.credential(named: "default") == Samples.issued(2) })
        // Then it is left alone for most of the lifetime again.
        let last = time.now
        #expect(time.wait { keeper.status[0].nextTry.map { $0 > last + .seconds(600) } == true })
        #expect(keeper.status[0].state == .ok)
    }

    @Test("A name that never had a credential is missing during each further try, too")
    func missing() throws {
        let server = try StandIn { _, number in
            number == 0 ? .json(500, Samples.refusal("InternalError")) : .silence
        }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
        defer { keeper.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        try keeper.replace(["default": .assumeRole(role)])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        time.advance(.seconds(1))
        #expect(server.requests.wait { $0.count == 2 })
        #expect(keeper.status[0].state == .missing)
    }

    @Test("A source that is left in the middle of a call is not being asked any more")
    func left() throws {
        let server = try StandIn { _, _ in .silence }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
        defer { keeper.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        try keeper.replace(["default": .assumeRole(role)])
        #expect(server.requests.wait { $0.count == 1 })
        try keeper.replace(["default": .admin])
        #expect(keeper.status[0].state == .missing)
    }

    @Test("A file that changes all the time does not have STS asked all the time")
    func restlessFile() throws {
        let directory = TemporaryDirectory()
        directory.replace("file", "0")
        var schedule = RefreshSchedule(files: ["\(directory.path)/file"])
        var calls: [Int] = []
        for second in 0..<60 {
            let now = Samples.now + .seconds(second)
            directory.replace("file", String(repeating: "x", count: second))
            guard schedule.isDue(now) else { continue }
            calls.append(second)
            schedule.begin(now)
            schedule.succeed(now, Samples.supplied(), random: 0)
        }
        #expect(calls.prefix(4) == [0, 1, 2, 3], "a few changes in a row are followed at once")
        #expect(calls.count < 12)
        #expect(calls.last.map { $0 >= 50 } == true)
        // Once it is quiet the next change counts at once.
        let later = Samples.now + .seconds(200)
        #expect(schedule.isDue(later))
    }
}

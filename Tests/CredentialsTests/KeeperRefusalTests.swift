import Crypto
import System
import TestSupport
import Testing

@testable import Credentials

/// What happens after SLS refused a credential, and how a source that gives nothing shows.
@Suite(.timeLimit(.minutes(2))) struct KeeperRefusalTests {
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

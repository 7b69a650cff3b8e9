import System
import TestSupport
import Testing

@testable import Credentials

/// A host whose clock is wrong, and is set right while a source goes on giving the same credential.
@Suite(.timeLimit(.minutes(2))) struct KeeperClockTests {
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

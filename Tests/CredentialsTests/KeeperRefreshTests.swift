import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct KeeperRefreshTests {
    private let time = ManualClock(at: Samples.now)

    private func role(caller: CredentialSource = .fixed(Samples.key)) -> CredentialSource {
        .assumeRole(AssumeRole(roleARN: Samples.roleARN, caller: caller))
    }

    private func keeper(sts: StandIn) throws -> CredentialKeeper {
        try CredentialKeeper(Samples.surroundings([:], time, sts: sts.url))
    }

    @Test("A credential is renewed before its end, and the old one is there until then")
    func renewal() throws {
        let time = time
        let server = try StandIn { _, number in
            .json(200, Samples.stsAnswer(number + 1, until: time.now + .seconds(3600)))
        }
        defer { server.stop() }
        let keeper = try keeper(sts: server)
        defer { keeper.stop() }
        let changes = SharedValue<[[String]]>([])
        keeper.whenChanged { names in changes.change { $0.append(names) } }
        #expect(keeper.credential(named: "default") == nil)
        try keeper.replace(["default": role()])
        #expect(changes.wait { $0 == [["default"]] })
        #expect(keeper.credential(named: "default") == Samples.issued(1))

        // A fifth of an hour before the end, and half of a fifth of that by chance: 792 seconds.
        #expect(time.wait { keeper.status[0].nextTry == Samples.now + .seconds(2808) })
        time.advance(.seconds(2807))
        #expect(keeper.credential(named: "default") == Samples.issued(1))
        time.advance(.seconds(1))
        #expect(changes.wait { $0.count == 2 })
        #expect(keeper.credential(named: "default") == Samples.issued(2))
        #expect(server.requests.now.count == 2)
        #expect(time.wait { keeper.status[0].state == .ok })
    }

    @Test("A renewal that fails leaves the old one in use, shows, and is tried again")
    func failing() throws {
        let server = try StandIn { _, number in
            number == 0
                ? .json(200, Samples.stsAnswer())
                : .json(500, Samples.refusal("InternalError"))
        }
        defer { server.stop() }
        let keeper = try keeper(sts: server)
        defer { keeper.stop() }
        let told = Locked<[String]>([])
        keeper.whenFailing { name, problem in told.withLock { $0.append("\(name) \(problem)") } }
        try keeper.replace(["default": role()])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        time.advance(.seconds(2808))
        let firstTry = time.now + .milliseconds(500)
        #expect(time.wait { keeper.status[0].nextTry == firstTry })
        #expect(keeper.credential(named: "default") == Samples.issued())
        var status = keeper.status[0]
        #expect(status.lastProblem?.words?.code == "InternalError")
        #expect(status.lastRefresh == Samples.now)
        #expect(status.failures == 1)
        time.advance(.milliseconds(500))
        let secondTry = time.now + .seconds(1)
        #expect(time.wait { keeper.status[0].nextTry == secondTry })
        #expect(keeper.status[0].failures == 2)
        // The renewal was due a little early; by the rule of the status it is due only later.
        #expect(keeper.status[0].state == .ok)

        time.advance(.seconds(100))
        let thirdTry = time.now + .seconds(2)
        #expect(time.wait { keeper.status[0].nextTry == thirdTry })
        #expect(keeper.status[0].state == .expiring)
        time.advance(.seconds(700))
        #expect(keeper.credential(named: "default") == nil)
        #expect(time.wait { keeper.status[0].failures == 4 })
        #expect(told.withLock { $0.count } == 1, "the same is not told again")
        #expect(told.withLock { $0[0] }.hasPrefix("default STS refuses AssumeRole"))
        status = keeper.status[0]
        #expect(status.state == .expired)
        #expect(status.secondsLeft.map { $0 < 0 } == true)
    }

    @Test("Nobody waits for a source that is silent, and stopping ends the wait at once")
    func silent() throws {
        let server = try StandIn { _, _ in .silence }
        defer { server.stop() }
        let keeper = try keeper(sts: server)
        try keeper.replace(["default": role(), "other": .fixed(Samples.key)])
        #expect(server.requests.wait { $0.count == 1 })
        #expect(keeper.credential(named: "default") == nil)
        #expect(keeper.credential(named: "other") == Samples.key)
        #expect(keeper.status.map(\.state) == [.refreshing, .ok])
        let start = Moment.now
        keeper.stop()
        #expect(Moment.now - start < .seconds(2).calibrated())
    }

    @Test("A refusal by SLS shows, and has the source asked again, but not at once each time")
    func refusal() throws {
        let server = try StandIn { _, number in .json(200, Samples.stsAnswer(number + 1)) }
        defer { server.stop() }
        let keeper = try keeper(sts: server)
        defer { keeper.stop() }
        try keeper.replace(["default": role()])
        #expect(time.wait { keeper.status[0].nextTry != nil })
        for _ in 0..<5 { keeper.noteRefusal("default") }
        #expect(time.wait { keeper.status[0].state == .refused })
        #expect(server.requests.now.count == 1)
        time.advance(.seconds(10))
        #expect(time.wait { keeper.credential(named: "default") == Samples.issued(2) })
        #expect(time.wait { keeper.status[0].state == .ok })
        #expect(server.requests.now.count == 2)

        keeper.noteRefusal("default", of: Samples.issued(1))
        #expect(keeper.status[0].state != .refused)
        keeper.noteRefusal("default", of: Samples.issued(2))
        #expect(keeper.status[0].state == .refused)
        keeper.noteSuccess("default")
        #expect(keeper.status[0].state != .refused)
    }

    @Test("A role whose caller comes later is asked for as soon as it has come")
    func dependent() throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let keeper = try keeper(sts: server)
        defer { keeper.stop() }
        try keeper.replace(["base": .admin, "default": role(caller: .named("base"))])
        #expect(time.wait { keeper.status[1].failures == 1 })
        try keeper.push("base", PushedCredential(Samples.supplied(Samples.temporary)))
        time.advance(SourceThread.callInterval)
        #expect(time.wait { keeper.credential(named: "default") == Samples.issued() })
        #expect(server.requests.now.first?["SecurityToken"] == Samples.token)
    }

    @Test("Waits grow, and are longer for what somebody has to change")
    func pace() {
        func window(_ kind: SourceProblem.Kind, _ failures: Int) -> Duration {
            RetryPace.window(kind, after: failures)
        }
        #expect(
            (1...4).map { window(.temporary, $0) } == [1, 2, 4, 8].map { Duration.seconds($0) }
        )
        #expect(window(.temporary, 1_000_000) == .seconds(300))
        #expect(window(.permanent, 1) == .seconds(60))
        #expect(window(.permanent, 1_000_000) == .seconds(600))
        #expect(RetryPace.wait(.temporary, after: 3, random: 0) == .zero)
        #expect(RetryPace.wait(.permanent, after: 1, random: 0) == .seconds(30))
    }

    @Test(
        "The margin is a fifth of the lifetime, three minutes at least and half of it at most",
        arguments: [(3600, 720), (43_200, 8640), (900, 180), (600, 180), (300, 150), (10, 5)]
    )
    func margin(lifetime: Int, margin: Int) {
        let supplied = Samples.supplied(lasting: .seconds(lifetime))
        let end = Samples.now + .seconds(lifetime)
        #expect(supplied.refreshTime() == end + .seconds(-margin))
        let early = supplied.refreshTime(random: 1)
        #expect(early.map { $0 <= end + .seconds(-margin) } == true)
        #expect(early.map { $0 >= Samples.now + .milliseconds(lifetime * 500) } == true)
    }

    @Test("A source that gives the same again is asked about once a minute")
    func same() {
        var schedule = RefreshSchedule(files: [])
        let kept = Samples.supplied(lasting: .seconds(3600))
        let late = Samples.now + .seconds(3000)
        schedule.succeed(late, kept, random: 0)
        #expect(schedule.due == late + .seconds(60))
        let later = Samples.now + .seconds(3590)
        schedule.succeed(later, kept, random: 0)
        #expect(schedule.due == later + .seconds(10))
    }
}

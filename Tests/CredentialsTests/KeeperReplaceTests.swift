import Glibc
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct KeeperReplaceTests {
    private let time = ManualClock(at: Samples.now)

    private func role(_ session: String) -> CredentialSource {
        var role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        role.sessionName = session
        return .assumeRole(role)
    }

    @Test("Sources that stay as they were are left alone, others are exchanged without a gap")
    func reload() throws {
        let server = try StandIn { request, number in
            request["RoleSessionName"] == "broken"
                ? .json(403, Samples.refusal("NoPermission"))
                : .json(200, Samples.stsAnswer(number + 1))
        }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
        defer { keeper.stop() }
        try keeper.replace(["a": role("one"), "b": .fixed(Samples.key)])
        #expect(time.wait { keeper.credential(named: "a") != nil })
        try keeper.replace(["a": role("one"), "b": .fixed(Samples.temporary), "c": .admin])
        #expect(keeper.credential(named: "b") == Samples.temporary)
        #expect(server.requests.now.count == 1)

        try keeper.replace(["a": role("broken")])
        #expect(time.wait { keeper.status[0].failures == 1 })
        #expect(keeper.credential(named: "a") == Samples.issued(1))
        #expect(keeper.status.map(\.name) == ["a"])
        #expect(keeper.status[0].lastProblem?.kind == .permanent)
        try keeper.replace(["a": role("two")])
        #expect(time.wait { keeper.credential(named: "a") == Samples.issued(3) })
    }

    @Test("A pushed credential outlives a reload, but not its name")
    func pushed() throws {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        defer { keeper.stop() }
        try keeper.replace(["a": .admin])
        try keeper.push("a", PushedCredential(Samples.supplied()))
        try keeper.replace(["a": .fixed(Samples.key)])
        #expect(keeper.credential(named: "a") == Samples.issued())
        try keeper.replace([:])
        #expect(keeper.credential(named: "a") == nil)
        #expect(keeper.status.isEmpty)
    }

    @Test("A name that leaves and comes back has what was pushed again, unless it was forgotten")
    func comesBack() throws {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        defer { keeper.stop() }
        try keeper.replace(["a": .admin, "b": .admin])
        for name in ["a", "b"] { try keeper.push(name, PushedCredential(Samples.supplied())) }
        let next = Samples.supplied(Samples.issued(2))
        let activation = Samples.now + .seconds(60)
        try keeper.push("a", PushedCredential(next, activation: activation))
        try keeper.replace([:])
        #expect(keeper.pushed("a").count == 2)
        keeper.forget("b")
        time.advance(.seconds(60))
        try keeper.replace(["a": .fixed(Samples.key), "b": .admin])
        #expect(time.wait { keeper.credential(named: "a") == Samples.issued(2) })
        #expect(keeper.credential(named: "b") == nil)
    }

    @Test("A reload that cannot start a thread changes nothing, and the next one makes up for it")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let time = ManualClock(at: Samples.now)
            let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
            let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
            try keeper.replace(["a": .fixed(Samples.temporary), "b": .admin])
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var low = limit
            low.rlim_cur = rlim_t(dup(0))
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low)
            let sources: [String: CredentialSource] = [
                "a": .assumeRole(AssumeRole(roleARN: "r", caller: .fixed(Samples.key))),
                "b": .fixed(Samples.key),
            ]
            #expect(throws: KeeperProblem.self) { try keeper.replace(sources) }
            #expect(keeper.status.map(\.source) == ["static", "admin"])
            try keeper.replace(["a": .fixed(Samples.temporary), "b": .fixed(Samples.key)])
            #expect(keeper.credential(named: "b") == Samples.key)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            try keeper.replace(sources)
            #expect(time.wait { keeper.credential(named: "a") == Samples.issued() })
            keeper.stop()
            server.stop()
        }
    }

    @Test("A source that hangs where nothing can interrupt it is left behind, and heard no more")
    func hanging() throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let (hasCome, isOpen) = (SharedValue(false), SharedValue(false))
        var surroundings = Samples.surroundings([:], time, sts: server.url)
        // It stands for a file on a server that is away.
        surroundings.random = {
            hasCome.change { $0 = true }
            isOpen.wait(.seconds(60)) { $0 }
            return 0.5
        }
        let keeper = try CredentialKeeper(surroundings)
        try keeper.replace(["a": role("one")])
        #expect(hasCome.wait { $0 })
        let start = Moment.now
        try keeper.replace(["a": .fixed(Samples.key)])
        #expect(Moment.now - start < .seconds(10).calibrated())
        #expect(keeper.credential(named: "a") == Samples.key)
        isOpen.change { $0 = true }
        keeper.stop()
        #expect(keeper.credential(named: "a") == Samples.key)
        #expect(keeper.status[0].failures == 0 && server.requests.now.isEmpty)
    }

    @Test("An environment without a key is shown, not fatal")
    func emptyEnvironment() throws {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        defer { keeper.stop() }
        try keeper.replace(["default": .environment])
        #expect(keeper.status[0].state == .missing)
        #expect(keeper.status[0].lastProblem?.what.contains("ALIBABA_CLOUD") == true)
    }

    @Test("The environment's key comes with its token")
    func environment() throws {
        let variables = [
            "ALIBABA_CLOUD_ACCESS_KEY_ID": "STS.CallerKeyId",
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET": Samples.secret,
            "ALIBABA_CLOUD_SECURITY_TOKEN": Samples.token,
        ]
        let keeper = try CredentialKeeper(Samples.surroundings(variables, time))
        defer { keeper.stop() }
        try keeper.replace(["default": .environment])
        #expect(keeper.credential(named: "default") == Samples.temporary)
    }

    @Test("Names are bounded")
    func bounded() throws {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        defer { keeper.stop() }
        let names = (0...CredentialKeeper.namesMax).map { ("n\($0)", CredentialSource.admin) }
        #expect(throws: KeeperProblem.self) {
            try keeper.replace(Dictionary(uniqueKeysWithValues: names))
        }
    }

    @Test("Reloads, lookups and pushes at once end well")
    func stress() throws {
        let server = try StandIn { _, number in .json(200, Samples.stsAnswer(number + 1)) }
        defer { server.stop() }
        let keeper = try CredentialKeeper(Samples.surroundings([:], time, sts: server.url))
        let isOver = Locked(false)
        let reader = try Worker("reader") {
            while !isOver.withLock({ $0 }) {
                _ = keeper.credential(named: "a")
                _ = keeper.status
                keeper.noteRefusal("a")
            }
        }
        for round in 0..<20 {
            try keeper.replace(["a": role("s\(round % 2)"), "b": .fixed(Samples.key)])
            try keeper.push("b", PushedCredential(Samples.supplied(Samples.issued(round))))
            if round % 3 == 0 { keeper.forget("b") }
        }
        isOver.withLock { $0 = true }
        reader.join()
        keeper.stop()
        #expect(keeper.credential(named: "b") == Samples.issued(19))
    }
}

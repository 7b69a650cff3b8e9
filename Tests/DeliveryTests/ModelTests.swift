import Configuration
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Whatever happens in whatever order: places are counted right, and a gate opens again.
@Suite struct GateModelTests {
    struct World {
        var gate = Gate(most: 8)
        var random: SeededRandom
        var now = Moment(nanoseconds: 1_000_000_000_000)
        var flying: [Gate.Pass] = []

        mutating func step() {
            switch random.next() % 20 {
            case 0...7: if gate.permits(now) { flying.append(gate.enter(now, bytes: 100_000)) }
            case 8...14: answer()
            case 15: now = gate.nextOpening.map { max($0, now) } ?? now
            case 16: gate.reopen(now)
            case 17: gate.hold(until: now + .seconds(Int(random.next() % 900)), now)
            default: now = now + .milliseconds(Int(random.next() % 2000))
            }
        }

        mutating func answer() {
            guard !flying.isEmpty else { return }
            let pass = flying.remove(at: Int(random.next() % UInt64(flying.count)))
            let verdicts: [Gate.Verdict] = [
                .stored, .stored, .stored, .reached, .failed, .failed, .overQuota(.requests),
                .overQuota(.bytes), .overQuota(.unknown), .forbidden, .suspended, .none,
            ]
            _ = gate.leave(
                pass,
                verdicts[Int(random.next() % UInt64(verdicts.count))],
                retryAfter: random.next() % 10 == 0 ? .seconds(Int(random.next() % 3600)) : nil,
                now,
                random: .random(in: 0..<1, using: &random)
            )
        }

        /// Everything comes back, and from now on everything is stored.
        mutating func recover() -> Bool {
            while let pass = flying.popLast() {
                _ = gate.leave(pass, .none, now, random: .random(in: 0..<1, using: &random))
            }
            for _ in 1...200 {
                guard let next = gate.nextOpening else { return false }
                now = max(now, next)
                _ = gate.leave(gate.enter(now, bytes: 1000), .stored, now, random: 0.5)
            }
            return gate.probing == nil && gate.limit == 8
        }
    }

    @Test(
        "Bounds hold at every step, and it always recovers",
        arguments: 1...50 as ClosedRange<UInt64>
    )
    func anything(seed: UInt64) {
        var world = World(random: SeededRandom(seed: seed))
        for _ in 1...500 {
            world.step()
            let gate = world.gate
            #expect(gate.inFlight == world.flying.count)
            #expect((1...8).contains(gate.limit))
            #expect(gate.inFlight <= 8 + 1)
            if let next = gate.nextOpening { #expect(next - world.now <= .seconds(601)) }
            #expect(gate.nextOpening != nil || gate.inFlight > 0, "nobody would ever open it")
        }
        let recovered = world.recover()
        #expect(recovered)
    }
}

/// Whenever something is queued and nothing forbids it, a request is sent within a bound, whatever
/// was lost, held, recalled or forgotten before.
@Suite(.timeLimit(.minutes(10))) struct LivenessModelTests {
    /// A gateway's delivery, with all that happens to it from outside.
    final class World {
        /// Where there is only one, no other asks the queue for a packet that could be the probe of
        /// all.
        let logstores: [String]
        /// What the server answers for a while. Each closes a gate of its own, or none.
        static let moods: [ScriptedServer.Reply] = [
            .stored, .answer(401, code: "SignatureNotMatch"),
            .answer(401, code: "TokenWithdrawn"),
            .answer(401, code: "Unauthorized", message: "denied by sts or ram"),
            .answer(403, code: "ProjectForbidden"), .answer(404, code: "ProjectNotExist"),
            .answer(404, code: "LogStoreNotExist"), .answer(400, code: "PostBodyInvalid"),
            .answer(503, code: "ServerBusy"), .answer(400, code: "ParameterInvalid"), .hangUp,
        ]

        let source: MemorySource
        let rig: Rig
        let mood: Locked<ScriptedServer.Reply>
        var random: SeededRandom
        private var number: Int64 = 0
        private(set) var history: [String] = []

        init(seed: Int) throws {
            let source = MemorySource()
            let mood = Locked(ScriptedServer.Reply.stored)
            let server = try ScriptedServer { _, _ in mood.withLock { $0 } }
            self.source = source
            self.mood = mood
            rig = try Rig(source, server, compression: .none, adjusting: Self.adjust)
            random = SeededRandom(seed: UInt64(seed))
            logstores = Array(["log-a", "log-b", "log-c"].prefix(1 + seed % 3))
        }

        private static func adjust(_ settings: inout Destination) {
            settings.transfer.transport.sendTimeout = .milliseconds(100)
            settings.transfer.concurrency = 4
            settings.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
        }

        func offer(to logstore: String) {
            number += 1
            source.offer(number, logstore: logstore, rows: 1)
        }

        func credential(_ credential: Credential?) {
            rig.credential.withLock { $0 = credential }
            rig.forwarder.credentialsChanged()
        }

        /// What is waited for may never come; then the world goes on.
        func waitUntil(_ condition: @escaping @Sendable (DestinationStatus) -> Bool) {
            let forwarder = rig.forwarder
            _ = eventually(within: .milliseconds(30)) { condition(forwarder.status[0]) }
        }

        private var anyLogstore: String { logstores.randomElement(using: &random) ?? "log-a" }

        enum Step: String {
            case mood, offer, lose, find, expire, hold, goOn, retire
        }

        /// What happens often enough to meet in one round.
        private static let steps: [Step] = [
            .mood, .offer, .lose, .lose, .lose, .find, .expire, .expire, .expire, .hold, .goOn,
            .retire,
        ]

        private func change(to moods: [ScriptedServer.Reply]) {
            let new = moods.randomElement(using: &random) ?? .stored
            mood.withLock { $0 = new }
        }

        /// More than delivery asked for in advance, or that would be left when these have gone.
        private func burst(to logstore: String) {
            for _ in 1...20 { offer(to: logstore) }
            let asked = rig.server.requests.now.count
            rig.server.requests.wait(.milliseconds(20)) { $0.count > asked }
        }

        /// Something goes wrong while logs wait.
        func begin() {
            history.append("begin")
            change(to: Self.moods)
            for logstore in logstores { burst(to: logstore) }
            // A refusal of a credential that is gone when it is heard says nothing.
            waitUntil { $0.isPaused }
        }

        func step() {
            let step = Self.steps.randomElement(using: &random) ?? .offer
            history.append(step.rawValue)
            switch step {
            case .mood: change(to: Self.moods)
            case .offer: burst(to: anyLogstore)
            case .lose:
                credential(nil)
                waitUntil { $0.isWaitingForCredential }
            case .find: credential(Samples.credential)
            case .expire:
                // Everything that waits has grown too old.
                source.expire()
                source.state.wait(.milliseconds(30)) { $0.unsettled.isEmpty }
            case .hold:
                rig.forwarder.hold(["app"])
                waitUntil { $0.state == .held }
            case .goOn: rig.forwarder.hold([])
            case .retire:
                let outlet = Outlet(destination: "app", logstore: anyLogstore)
                if source.state.now.unsettled.isEmpty { source.retire(outlet) }
            }
        }

        /// From here on nothing forbids anything.
        func allIsWell() {
            mood.withLock { $0 = .stored }
            rig.forwarder.hold([])
            credential(Samples.credential)
        }
    }

    @Test("Queued packets are sent, whatever happened before", arguments: 1...9)
    func liveness(seed: Int) throws {
        let world = try World(seed: seed)
        for _ in 1...20 {
            world.begin()
            for _ in 1...Int.random(in: 2...6, using: &world.random) { world.step() }
            world.allIsWell()
            for logstore in world.logstores { world.offer(to: logstore) }
            let isSent = world.source.state.wait(.seconds(30)) { $0.unsettled.isEmpty }
            #expect(isSent, "after the steps \(world.history.joined(separator: " "))")
            guard isSent else { break }
        }
        world.rig.stop()
        #expect(world.rig.status.leased == 0 && world.rig.status.inFlight == 0)
    }
}

/// Whatever the server does for a while, in the end all is stored or dead, and every place is free.
@Suite(.timeLimit(.minutes(10))) struct EngineModelTests {
    /// Without quotas: at random they make no sense, and what they do to the pace has tests of its
    /// own.
    static let mishaps: [ScriptedServer.Reply] = [
        .hangUp, .silence, .text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        .answer(500, code: "InternalServerError"), .answer(503, code: "ServerBusy"),
        .answer(403, code: "ProjectForbidden"), .answer(401, code: "SignatureNotMatch"),
        .answer(401, code: "Unauthorized"), .answer(404, code: "LogStoreNotExist"),
        .answer(404, code: "ProjectNotExist"), .answer(400, code: "PostBodyInvalid"),
        .answer(400, code: "ParameterInvalid"), .answer(400, code: "RequestTimeExpired"),
        .answer(400, code: "InvalidSequenceId"), .answer(418, code: "NobodyKnowsThis"),
    ]

    @Test("No place, pass or packet gets lost under random answers", arguments: 1...4)
    func random(seed: Int) throws {
        let stored = Locked<[String]>([])
        let random = Locked(SeededRandom(seed: UInt64(seed)))
        let server = try ScriptedServer { request, number in
            let mishap = random.withLock { random in
                Int.random(in: 0...3, using: &random) == 0
                    ? nil : Self.mishaps.randomElement(using: &random)
            }
            if number < 300, let mishap { return mishap }
            stored.withLock { $0 += request.values }
            return .stored
        }
        let rig = try Rig(server, compression: .none) {
            $0.transfer.transport.sendTimeout = .milliseconds(100)
            $0.transfer.concurrency = 4
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
        }
        for number in 1...100 as ClosedRange<Int64> {
            let lane = Lane(key: String(repeating: "b", count: 32), sequence: number)
            rig.source.offer(
                number,
                logstore: "logstore-\(number % 5)",
                rows: 1,
                lane: number % 3 == 0 ? lane : nil
            )
        }
        let all = Set(
            (1...100).flatMap { number in
                (0..<Samples.logsPerRow).map { "value \(number * 100) \($0)" }
            }
        )
        #expect(rig.source.state.wait { $0.unsettled.isEmpty })
        // All places are there: as many requests as ever are stored at a time.
        for number in 1001...1100 as ClosedRange<Int64> {
            rig.source.offer(number, logstore: "logstore-\(number % 5)", rows: 1)
        }
        #expect(rig.source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        let dead = rig.source.state.now.dead.map { Samples.values(in: $0.log)[0] }
        let missing = all.subtracting(stored.withLock { $0 }).subtracting(dead)
        // A packet in a lane may have been taken for stored: the server refused its number.
        let isInLane = { (value: String) in
            let number = Int(value.split(separator: " ")[1]) ?? 0
            return number / 100 % 3 == 0
        }
        #expect(missing.allSatisfy(isInLane), "\(missing.count) are missing")
        #expect(rig.status.leased == 0 && rig.status.inFlight == 0)
        for outlet in rig.status.outlets {
            #expect(outlet.inFlight == 0 && outlet.waiting == 0, "\(outlet.logstore)")
        }
    }
}

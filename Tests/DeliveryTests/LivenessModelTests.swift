import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Whenever something is queued and nothing forbids it, a request is sent within a bound, whatever
/// was lost, held, recalled or forgotten before.
@Suite(.timeLimit(.minutes(2))) struct LivenessModelTests {
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
            let source = try MemorySource()
            let mood = Locked(ScriptedServer.Reply.stored)
            let server = try ScriptedServer { _, _ in mood.withLock { $0 } }
            self.source = source
            self.mood = mood
            rig = try Rig(source, server, compression: .none, adjusting: Self.adjust)
            random = SeededRandom(seed: UInt64(seed))
            logstores = Array(["log-a", "log-b", "log-c"].prefix(1 + seed % 3))
        }

        private static func adjust(_ settings: inout DestinationSettings) {
            settings.transport.sendTimeout = .milliseconds(100)
            settings.concurrency = 4
            settings.retryWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
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
            waitUntil { if case .paused = $0.state { true } else { false } }
        }

        func step() {
            let step = Self.steps.randomElement(using: &random) ?? .offer
            history.append(step.rawValue)
            switch step {
            case .mood: change(to: Self.moods)
            case .offer: burst(to: anyLogstore)
            case .lose:
                credential(nil)
                waitUntil { if case .waitingForCredential = $0.state { true } else { false } }
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

import Configuration
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// One that takes nothing, or much, must not delay another.
@Suite(.timeLimit(.minutes(10))) struct FairnessTests {
    private let source = MemorySource()
    static let quick = Backoff(first: .milliseconds(1), longest: .milliseconds(10))

    static func reply(_ logstore: String) -> ScriptedServer.Reply {
        if logstore.hasPrefix("hanging") { return .silence }
        if logstore.hasPrefix("forbidden") {
            return .answer(401, code: "Unauthorized", message: "denied by sts or ram")
        }
        return .stored
    }

    @Test("Logstores that hang or forbid do not delay the others, however many they are")
    func badCompany() throws {
        let server = try ScriptedServer { request, _ in Self.reply(request.logstore) }
        let rig = try Rig(server)
        for number in 1...30 as ClosedRange<Int64> {
            rig.source.offer(number, logstore: "hanging-\(number % 3)")
            rig.source.offer(100 + number, logstore: "forbidden-\(number % 10)")
        }
        #expect(server.requests.wait { $0.count { $0.logstore.hasPrefix("hanging") } >= 3 })
        for number in 201...400 as ClosedRange<Int64> { rig.source.offer(number, logstore: "fine") }
        #expect(rig.source.state.wait { $0.acknowledged.count == 200 })
        // Not a single request had to end for that.
        #expect(rig.status.outlets.allSatisfy { $0.failures[.network] == nil })
        #expect(rig.status.outlets.first { $0.logstore == "forbidden-1" }?.sentPackets == 0)
        rig.forwarder.stop(within: .zero)
        server.stop()
    }

    @Test("A logstore that is refused for an unknown reason does not slow its project")
    func unknownRefusal() throws {
        let server = try ScriptedServer { request, _ in
            guard request.logstore == "strange" else { return .stored }
            return .answer(403, code: "AclRejected", message: "this address may not write here")
        }
        let rig = try Rig(server)
        for number in 1...20 as ClosedRange<Int64> { rig.source.offer(number, logstore: "strange") }
        #expect(
            rig.recorder.lines.wait {
                $0.contains { $0.contains("logstore is paused") && $0.contains("AclRejected") }
            }
        )
        for number in 101...300 as ClosedRange<Int64> { rig.source.offer(number, logstore: "fine") }
        let started = Moment.now
        #expect(rig.source.state.wait { $0.acknowledged.count == 200 })
        // A project that takes nothing is asked every ten seconds.
        #expect(Moment.now - started < .seconds(8).calibrated())
        let status = rig.status
        #expect(status.rate == nil && status.state == .running)
        rig.forwarder.stop(within: .zero)
        server.stop()
    }

    @Test("When all that is known of the endpoint is silence, a logstore of good repute is heard")
    func witness() throws {
        let server = try ScriptedServer { request, _ in Self.reply(request.logstore) }
        // With longer rounds the logstores rest before the endpoint's gate closes, and the machine
        // may stop for a moment while it is calibrated.
        let time = min(Duration.milliseconds(100).calibrated(), .milliseconds(500))
        let rig = try Rig(server) {
            $0.transfer.transport.sendTimeout = time
            // Whoever waits for a probe's turn waits longer than this test may take.
            $0.transfer.retry = Backoff(first: .seconds(3600), longest: .seconds(3600))
        }
        for logstore in 1...4 as ClosedRange<Int64> {
            for number in 1...40 as ClosedRange<Int64> {
                rig.source.offer(1000 * logstore + number, logstore: "hanging-\(logstore)")
            }
        }
        // The gate closes after several rounds of silence, each as long as the timeout.
        let limit = max(.seconds(20), time * 200)
        #expect(
            rig.recorder.lines.wait(limit) { $0.contains { $0.contains("endpoint is paused") } }
        )
        rig.source.offer(100, logstore: "fine")
        #expect(rig.source.state.wait(limit) { $0.acknowledged == [100] })
        #expect(rig.recorder.count(of: "endpoint answers again") == 1)
        rig.forwarder.stop(within: .zero)
        server.stop()
    }

    @Test("Outlets take turns: one packet does not wait behind a thousand")
    func turns() throws {
        let order = Locked<[String]>([])
        let server = try ScriptedServer { request, _ in
            let count = order.withLock { order in
                order.append(request.logstore)
                return order.count
            }
            if count == 100 { source.offer(5000, logstore: "small") }
            return .stored
        }
        let rig = try Rig(source, server) { $0.transfer.concurrency = 2 }
        for number in 1...1000 as ClosedRange<Int64> { source.offer(number, logstore: "large") }
        #expect(source.state.wait { $0.acknowledged.count == 1001 })
        rig.stop()
        let place = order.withLock { $0 }.firstIndex(of: "small") ?? .max
        #expect((100...110).contains(place), "after \(place - 100) others")
    }

    @Test("Outlets that are all busy get equal parts")
    func equalParts() throws {
        // Nobody is ahead because of the thread that happens to answer it.
        let turnstile = Turnstile(behind: 7)
        let server = try ScriptedServer { _, _ in
            turnstile.pass()
            return .stored
        }
        let rig = try Rig(server)
        for number in 1...400 as ClosedRange<Int64> {
            rig.source.offer(number, logstore: "logstore-\(number % 4)")
        }
        #expect(server.requests.wait { $0.count >= 200 })
        turnstile.open()
        #expect(rig.source.state.wait { $0.acknowledged.count == 400 })
        rig.stop()
        // When half of all is sent, each has sent about a quarter of that: whose gate opened first
        // is ahead for a while.
        let first = server.requests.now.prefix(200)
        for index in 0..<4 {
            let count = first.count { $0.logstore == "logstore-\(index)" }
            #expect((40...60).contains(count), "logstore-\(index) sent \(count) of 200")
        }
    }

    @Test("Destinations of one endpoint share its gate fairly")
    func destinations() throws {
        let server = try ScriptedServer()
        let forwarder = try Forwarder.started(
            ["a", "b", "c"].map { try Samples.destination(port: server.port, name: $0) },
            source: source
        )
        for number in 1...300 as ClosedRange<Int64> {
            let name = ["a", "b", "c"][Int(number) % 3]
            source.offer(number, to: name, logstore: name + "-log")
        }
        #expect(source.state.wait { $0.acknowledged.count == 300 })
        forwarder.stop(server)
        let first = server.requests.now.prefix(150)
        for name in ["a-log", "b-log", "c-log"] {
            let count = first.count { $0.logstore == name }
            #expect((25...75).contains(count), "\(name) sent \(count) of 150")
        }
    }
}

import Configuration
import Queue
import SLS
import SQLiteQueue
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(10))) struct LaneDeliveryTests {
    static let lane = Lane(key: String(repeating: "a", count: 32), sequence: 42)

    /// Answers InvalidSequenceId to the packet's lane from the given request on, and before that
    /// what the test says.
    func server(
        _ first: ScriptedServer.Reply...
    ) throws -> ScriptedServer {
        try ScriptedServer { request, number in
            if number < first.count { return first[number] }
            guard request.head.contains("key=\(Self.lane.key)") else { return .stored }
            return .answer(400, code: "InvalidSequenceId")
        }
    }

    @Test("A packet in a lane goes to its shard with its number, each time the same")
    func route() throws {
        let server = try ScriptedServer { _, number in
            number == 0 ? .answer(500, code: "InternalServerError") : .stored
        }
        let rig = try Rig(server)
        rig.source.offer(1, lane: Self.lane)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let lines = server.requests.now.compactMap { $0.head.split(separator: "\r\n").first }
        #expect(lines.count == 2)
        #expect(
            Set(lines) == [
                "POST /logstores/app-log/shards/route?key=\(Self.lane.key)&seqid=42 HTTP/1.1"
            ]
        )
    }

    @Test(
        "A number that is used up after a request of unknown outcome means stored",
        arguments: [
            ScriptedServer.Reply.hangUp, .answer(503, code: "ServerBusy"),
            .text("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
        ]
    )
    func storedBefore(first: ScriptedServer.Reply) throws {
        let rig = try Rig(server(first))
        rig.source.offer(1, lane: Self.lane)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.source.state.now.relaned.isEmpty)
        #expect(rig.status.unknownOutcomes == 1)
        #expect(rig.status.storedBefore == 1)
        #expect(rig.status.sentPackets == 1)
    }

    @Test("So it does when curl repeats a request by itself on another connection")
    func repeatedByCurl() throws {
        // The second request comes over the connection of the first, which breaks then.
        let rig = try Rig(server(.stored, .hangUp))
        #expect(rig.source.offerAndWait(1))
        rig.source.offer(2, lane: Self.lane)
        #expect(rig.source.state.wait { $0.acknowledged == [1, 2] })
        rig.stop()
        #expect(rig.server.requests.now.count == 3)
        #expect(rig.source.state.now.relaned.isEmpty)
        #expect(rig.status.unknownOutcomes == 1)
        #expect(rig.status.storedBefore == 1)
        #expect(rig.status.failures.isEmpty, "nobody saw one")
    }

    @Test("So it does when curl repeats a request by itself and finds no server")
    func repeatedInVain() throws {
        let first = Locked<ScriptedServer?>(nil)
        let server = try ScriptedServer { _, number in
            guard number > 0 else { return .stored }
            first.withLock { $0 }?.refuseConnections()
            return .hangUp
        }
        first.withLock { $0 = server }
        let rig = try Rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(50))
        }
        #expect(rig.source.offerAndWait(1))
        rig.source.offer(2, lane: Self.lane)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("CURLE_7") } })
        // What broke the connection had stored the packet.
        let back = try ScriptedServer(port: server.port) { request, _ in
            guard request.head.contains("key=\(Self.lane.key)") else { return .stored }
            return .answer(400, code: "InvalidSequenceId")
        }
        #expect(rig.source.state.wait { $0.acknowledged == [1, 2] })
        rig.stop()
        back.stop()
        first.withLock { $0 = nil }
        #expect(rig.source.state.now.relaned.isEmpty)
        #expect(rig.status.unknownOutcomes == 1)
        #expect(rig.status.storedBefore == 1)
    }

    @Test("So it does for a packet of an earlier life")
    func recovered() throws {
        let rig = try Rig(server())
        rig.source.offer(1, lane: Self.lane, isRecovered: true)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.source.state.now.relaned.isEmpty)
    }

    @Test("A number that is used up by something else gives the packet another lane")
    func relaned() throws {
        let rig = try Rig(server(.answer(404, code: "LogStoreNotExist")))
        rig.source.offer(1, lane: Self.lane)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.source.state.now.relaned == [1])
        #expect(rig.status.relaned == 1)
        #expect(rig.status.storedBefore == 0)
        #expect(rig.status.leased == 0)
    }

    @Test("A logstore that takes no number pauses, names the remedy, and goes on by itself")
    func refusesAll() throws {
        let takesNumbers = Locked(false)
        let server = try ScriptedServer { request, _ in
            let isNumbered = request.head.contains("seqid=")
            return isNumbered && !takesNumbers.withLock { $0 }
                ? .answer(400, code: "InvalidSequenceId") : .stored
        }
        let rig = try Rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(200))
        }
        for number in 1...40 as ClosedRange<Int64> {
            rig.source.offer(number, lane: Lane(key: Self.lane.key, sequence: number))
        }
        #expect(
            eventually {
                guard case .paused(let reason, _) = rig.status.outlets.first?.state else {
                    return false
                }
                return reason.contains("400 InvalidSequenceId")
                    && reason.contains("set exactly_once: false")
            }
        )
        let relaned = rig.status.relaned
        // A quarter of the 8 requests at a time at first, then fewer: two windows and what was
        // under way.
        #expect(relaned <= 60, "\(relaned) packets got another lane before it paused")
        #expect(rig.status.pauses[.failure(.sequence)] == 1)
        #expect(rig.recorder.count(of: "logstore is paused") == 1)
        // Other logstores do not wait for it.
        rig.source.offer(101, logstore: "other")
        #expect(rig.source.state.wait { $0.acknowledged == [101] })
        takesNumbers.withLock { $0 = true }
        #expect(rig.source.state.wait { $0.acknowledged.count == 41 })
        rig.stop()
        #expect(rig.status.outlets.first { $0.logstore == "app-log" }?.state == .running)
        #expect(rig.source.state.now.isolated.isEmpty && rig.status.leased == 0)
    }
}

/// With the real queue and a sandbox whose connections break after it has stored what it was sent.
@Suite(.timeLimit(.minutes(10))) struct ExactlyOnceTests {
    static let batches = 200
    static let all = (0..<batches).flatMap { seed in
        (0..<Samples.logsPerRow).map { "value \(seed) \($0)" }
    }

    /// What arrived while connections broke and the gateway started anew thrice.
    func arrived(lanes: Int) throws -> (values: [String], status: DestinationStatus) {
        let sandbox = try TestSandbox { $0.seed = 7 }
        for fault in [
            #"{"reset":true,"store":true,"fraction":0.3}"#,
            #"{"truncate":true,"store":true,"fraction":0.1}"#,
            #"{"without_request_id":true,"fraction":0.1}"#,
            #"{"code":"ServerBusy","fraction":0.1}"#,
        ] {
            try sandbox.fail(fault)
        }
        var rules = DestinationRules(
            packet: PacketLimits(logs: Samples.logsPerRow, age: .milliseconds(5))
        )
        rules.lanes = lanes
        let bench = try StoredBench(sandbox, rules) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
            $0.transfer.transport.sendTimeout = .seconds(1)
        }
        let quarter = Self.batches / 4
        for part in 0..<4 {
            try bench.append(part * quarter..<(part + 1) * quarter)
            let isFlowing = bench.waitUntilDelivered(part * quarter * Samples.logsPerRow + 1)
            #expect(isFlowing)
            if part < 3 { try bench.restart() }
        }
        let isDelivered = bench.waitUntilDelivered(Self.all.count)
        #expect(isDelivered)
        #expect(bench.store.status.ledger.isClosed)
        let values = try sandbox.values()
        let status = bench.forwarder.status[0]
        bench.stop()
        return (values, status)
    }

    @Test("With lanes each log arrives once, whatever is cut off")
    func lanes() throws {
        let (values, status) = try arrived(lanes: 4)
        #expect(values.count == Self.all.count)
        #expect(Set(values) == Set(Self.all))
        #expect(status.unknownOutcomes > 0)
        #expect(status.storedBefore > 0)
        #expect(status.relaned == 0)
    }

    @Test("Without lanes none is missing, and some arrive twice")
    func without() throws {
        let (values, status) = try arrived(lanes: 0)
        #expect(values.count > Self.all.count, "or this test could not fail")
        #expect(Set(values) == Set(Self.all))
        #expect(status.storedBefore == 0)
    }
}

/// A packet that may be stored under its number must not come under others, for a suspicion.
@Suite(.timeLimit(.minutes(10))) struct LaneSuspicionTests {
    @Test(
        "A packet in a lane that may be stored is not halved for a setting that may be wrong",
        arguments: [true, false]
    )
    func whole(isRecovered: Bool) throws {
        let isRight = Locked(false)
        let server = try ScriptedServer { _, number in
            if !isRecovered, number == 0 { return .hangUp }
            if isRight.withLock({ $0 }) { return .answer(400, code: "InvalidSequenceId") }
            return .answer(400, code: "InvalidCompressType")
        }
        let rig = try Rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .milliseconds(10))
        }
        rig.source.offer(1, lane: LaneDeliveryTests.lane, isRecovered: isRecovered)
        #expect(server.requests.wait { $0.count >= 20 })
        #expect(rig.source.state.now.isolated.isEmpty)
        #expect(rig.source.state.now.setAside > 0)
        isRight.withLock { $0 = true }
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.status.storedBefore == 1)
        #expect(rig.source.state.now.relaned.isEmpty)
    }
}

import Configuration
import Glibc
import Net
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(10))) struct RetryTests {
    @Test("A refused packet is sent again with the same content and a new signature")
    func again() throws {
        let server = try ScriptedServer { _, number in
            number < 3 ? .answer(500, code: "InternalServerError", message: "try later") : .stored
        }
        let rig = try Rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let requests = rig.server.requests.now
        #expect(requests.count == 4)
        #expect(Set(requests.map(\.body)).count == 1)
        #expect(rig.source.state.now.reads == 3, "content is not kept while a packet waits")
        #expect(rig.status.failures == [.server: 3])
        #expect(rig.status.failuresInARow == 0)
        #expect(rig.status.lastFailure?.code == "InternalServerError")
        #expect(rig.status.lastFailure?.message == "try later")
        #expect(rig.status.lastFailure?.requestID == "5642FC2399248C8F7B0145FD")
        #expect(rig.status.waitingRetry == 0)
    }

    static let foreign = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/login\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ]

    @Test("An answer without a request id is not believed", arguments: foreign)
    func foreignAnswer(text: String) throws {
        let server = try ScriptedServer { _, number in number == 0 ? .text(text) : .stored }
        let rig = try Rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.server.requests.now.count == 2)
        #expect(rig.status.failures == [.notSLS: 1])
    }

    @Test("Refusals for a credential, a name or a quota are retried too, and named")
    func kinds() throws {
        let replies: [(Int, String)] = [
            (401, "Unauthorized"), (404, "LogStoreNotExist"), (403, "ShardWriteQuotaExceed"),
        ]
        let server = try ScriptedServer { _, number in
            guard number < replies.count else { return .stored }
            return .answer(replies[number].0, code: replies[number].1)
        }
        let rig = try Rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.status.failures == [.unauthorized: 1, .notFound: 1, .quota: 1])
    }

    static let id = "x-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
    static let flood = String(repeating: "x", count: 1 << 20)

    static let hostile: [ScriptedServer.Reply] = [
        .hangUp, .text("nonsense\r\n\r\n"),
        .text("HTTP/1.1 500 X\r\n\(id)Content-Length: \(flood.utf8.count)\r\n\r\n\(flood)"),
        .text("HTTP/1.1 200 OK\r\nX-Flood: \(flood)\r\n\(id)\r\n"),
        .text("HTTP/1.1 500 X\r\n\(id)Content-Length: 50\r\n\r\nshort"),
        .text("HTTP/1.1 200 OK\r\n\(id)Content-Length: 9\r\n\r\n"),
    ]

    @Test(
        "A server that hangs up, talks nonsense or floods is retried",
        arguments: 0..<hostile.count
    )
    func hostileServer(index: Int) throws {
        let server = try ScriptedServer { _, number in number == 0 ? Self.hostile[index] : .stored }
        let rig = try Rig(server) { $0.transfer.transport.sendTimeout = .milliseconds(500) }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(Array(rig.status.failures.keys) == [.network])
    }

    @Test("A server that is not there yet is found when it comes")
    func appears() throws {
        let placeholder = try ScriptedServer()
        let port = placeholder.port
        placeholder.stop()
        let source = MemorySource()
        let recorder = JournalRecorder()
        let forwarder = try Forwarder.started(
            [Samples.destination(port: port)],
            source: source,
            journal: recorder.journal
        )
        source.offer(1)
        #expect(recorder.lines.wait { !$0.isEmpty })
        let failure = forwarder.status[0].lastFailure
        #expect(failure?.kind == .network)
        #expect(failure?.code == "CURLE_7")
        let server = try ScriptedServer(port: port)
        #expect(source.state.wait { $0.acknowledged == [1] })
        #expect(recorder.lines.wait { $0.last?.contains("delivers again") ?? false })
        forwarder.stop(server)
        #expect(recorder.count(of: "delivery failed and is tried again") == 1)
    }

    @Test("A request that takes too long is given up and repeated")
    func timeout() throws {
        let server = try ScriptedServer { _, number in number == 0 ? .silence : .stored }
        let rig = try Rig(server) { $0.transfer.transport.sendTimeout = .milliseconds(500) }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(Array(rig.status.failures.keys) == [.network])
        #expect(rig.status.lastFailure?.code == "CURLE_28")
    }

    @Test("A request that makes no progress is given up long before its time is over")
    func stall() throws {
        let server = try ScriptedServer { _, number in number == 0 ? .silence : .stored }
        let rig = try Rig(server) {
            $0.transfer.transport.sendTimeout = .seconds(300)
            $0.transfer.transport.stallTimeout = .seconds(1)
        }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.status.lastFailure?.code == "CURLE_28")
    }

    @Test("A large request has the time that a slow uplink needs for it")
    func slowUplink() throws {
        let server = try ScriptedServer { _, number in
            // Longer than `sendTimeout`, by curl's own clock.
            if number == 0 { usleep(200_000) }
            return .stored
        }
        let rig = try Rig(server, compression: .none) {
            $0.transfer.transport.sendTimeout = .milliseconds(100)
        }
        rig.source.offer(1, rows: 40)
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.server.requests.now.map { $0.body.count > 40_000 } == [true])
        #expect(rig.status.failures.isEmpty)
    }

    @Test("While all fails, no more packets are taken from the queue than could be sent")
    func leaseBound() throws {
        let server = try ScriptedServer { _, _ in .answer(503, code: "ServerBusy") }
        let rig = try Rig(server) { $0.transfer.concurrency = 2 }
        for number in 1...50 as ClosedRange<Int64> { rig.source.offer(number) }
        #expect(rig.server.requests.wait { $0.count >= 8 })
        #expect(rig.source.state.now.handedOver <= 3)
        #expect(rig.status.leased <= 3)
        rig.stop()
        #expect(rig.source.state.now.acknowledged.isEmpty)
    }

    @Test("After an outage the packets that waited for its end do not wait out their time")
    func outageEnds() throws {
        let isUp = Locked(false)
        let server = try ScriptedServer { _, _ in
            isUp.withLock { $0 } ? .stored : .answer(503, code: "ServerBusy")
        }
        let rig = try Rig(server)
        for number in 1...8 as ClosedRange<Int64> {
            rig.source.offer(number, logstore: "logstore-\(number)")
        }
        #expect(rig.server.requests.wait { $0.count >= 28 })
        isUp.withLock { $0 = true }
        #expect(rig.source.state.wait { $0.acknowledged.count >= 1 })
        #expect(rig.source.state.wait(.seconds(3)) { $0.acknowledged.count == 8 })
        rig.stop()
    }
}

/// SLS asks to be left alone for a while, and is.
@Suite(.timeLimit(.minutes(10))) struct RetryAfterTests {
    private let source = MemorySource()
    let tests = SandboxDeliveryTests()

    func fault(_ sandbox: SandboxServer, _ json: String) throws {
        let answer = try ControlClient(port: Int(sandbox.address.port)).send(
            "POST",
            "/faults",
            json
        )
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
    }

    @Test(
        "Nothing goes there before the time is over",
        arguments: [
            (#"{"code":"ServerBusy","retry_after_s":1,"count":1}"#, DeliveryFailure.Kind.server),
            (#"{"code":"WriteQuotaExceed","retry_after_s":1,"count":1}"#, .quota),
            (#"{"code":"ShardWriteQuotaExceed","retry_after_s":1,"count":1}"#, .quota),
        ]
    )
    func honoured(json: String, kind: DeliveryFailure.Kind) throws {
        let sandbox = try tests.sandbox()
        try fault(sandbox, json)
        source.offer(1)
        let started = Moment.now
        let forwarder = try tests.forwarder(source, sandbox)
        #expect(source.state.wait { $0.acknowledged == [1] })
        let elapsed = Moment.now - started
        #expect(elapsed >= .seconds(1))
        #expect(elapsed < .seconds(5).calibrated())
        forwarder.stop(within: .seconds(5))
        #expect(forwarder.status[0].failures == [kind: 1])
        sandbox.stop()
    }

    @Test("Retry-After of one logstore does not stop another one")
    func oneLogstore() throws {
        let sandbox = try tests.sandbox()
        let json =
            #"{"code":"ShardWriteQuotaExceed","retry_after_s":2,"logstore":"busy","count":1}"#
        try fault(sandbox, json)
        source.offer(1, logstore: "busy")
        let forwarder = try tests.forwarder(source, sandbox)
        let started = Moment.now
        for number in 2...20 as ClosedRange<Int64> { source.offer(number, logstore: "idle") }
        #expect(source.state.wait { $0.acknowledged.count == 19 })
        #expect(Moment.now - started < .seconds(2).calibrated())
        #expect(!source.state.now.acknowledged.contains(1))
        #expect(source.state.wait { $0.acknowledged.contains(1) })
        forwarder.stop(sandbox)
    }
}

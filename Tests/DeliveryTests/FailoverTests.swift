import Configuration
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPClient

/// Two sandboxes, of which the first goes away and comes back.
@Suite(.timeLimit(.minutes(10))) struct FailoverTests {
    let first: TestSandbox
    let second: TestSandbox
    let source: MemorySource
    let recorder: JournalRecorder

    init() throws {
        first = try TestSandbox()
        second = try TestSandbox()
        source = MemorySource()
        recorder = JournalRecorder()
    }

    func forwarder(
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws -> Forwarder {
        try TestSandbox.forwarder(source, [first, second], recorder.journal, adjusting: adjusting)
    }

    func stop(_ forwarder: Forwarder) {
        forwarder.stop(first, second)
    }

    /// Offers packets one after another until one is stored where it should be, and gives its
    /// number.
    func sendUntilStored(at sandbox: TestSandbox, from number: Int64) throws -> Int64 {
        let end = Moment.now + .seconds(20)
        var number = number
        while Moment.now < end {
            let next = number
            source.offer(next)
            #expect(source.state.wait { $0.acknowledged.contains(next) })
            if try sandbox.has(packet: next) { return next }
            number += 1
        }
        Issue.record("nothing was stored there")
        return number
    }

    @Test("The reason for another endpoint is the silence of the first, not an answer that it gave")
    func reason() throws {
        first.stop()
        second.stop()
        let server = try ScriptedServer { request, _ in
            request.logstore == "b-log" ? .answer(404, code: "LogStoreNotExist") : .hangUp
        }
        let patient = Backoff(first: .seconds(3600), longest: .seconds(3600))
        var b = try Samples.destination(port: server.port, name: "b")
        b.endpoints.append(try Endpoint(parsing: "http://localhost:\(server.port)"))
        b.transfer.retry = patient
        var a = try Samples.destination(port: server.port, name: "a")
        a.transfer.retry = patient
        let forwarder = try Forwarder.started([a, b], source: source, journal: recorder.journal)
        source.offer(1, to: "b", logstore: "b-log")
        #expect(recorder.lines.wait { $0.contains { $0.contains("LogStoreNotExist") } })
        for logstore in 1...8 {
            for number in 1...20 {
                let number = Int64(100 * logstore + number)
                source.offer(number, to: "a", logstore: "a-\(logstore)")
            }
        }
        #expect(eventually { forwarder.status[1].endpointReason != nil })
        let reason = forwarder.status[1].endpointReason ?? ""
        #expect(reason.contains("CURLE_") && !reason.contains("LogStoreNotExist"), "\(reason)")
        forwarder.stop(within: .zero)
        server.stop()
    }

    @Test(
        "While the first endpoint fails the next is used, and the first again when it answers",
        arguments: [
            #"{"reset":true}"#, #"{"status":503}"#, #"{"without_request_id":true}"#,
            #"{"latency_ms":2000}"#, #"{"status":200,"body":"<html>sign in</html>"}"#,
        ]
    )
    func awayAndBack(fault: String) throws {
        // Shorter than the latency of a fault.
        let time = min(.milliseconds(300).calibrated(), Duration.milliseconds(1500))
        let forwarder = try forwarder { $0.transfer.transport.sendTimeout = time }
        #expect(source.offerAndWait(1))
        #expect(try first.has(packet: 1))

        try first.fail(fault)
        for number in 2...10 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 10 })
        for number in 2...10 as ClosedRange<Int64> { #expect(try second.has(packet: number)) }
        let away = forwarder.status[0]
        #expect(away.endpoint == "\(try second.endpoint())")
        #expect(away.endpointReason?.contains("\(try first.endpoint())") == true)

        try first.wellAgain()
        let number = try sendUntilStored(at: first, from: 11)
        source.offer(number + 1)
        #expect(source.state.wait { $0.acknowledged.contains(number + 1) })
        #expect(try first.has(packet: number + 1))
        let back = forwarder.status[0]
        #expect(back.endpoint == "\(try first.endpoint())")
        #expect(back.endpointReason == nil)
        stop(forwarder)
        #expect(recorder.count(of: "destination uses another endpoint") == 1)
        #expect(recorder.count(of: "destination uses its first endpoint again") == 1)
    }

    @Test(
        "A refusal that is SLS's own leads nowhere else",
        arguments: [
            #"{"code":"ShardWriteQuotaExceed","count":3}"#,
            #"{"code":"WriteQuotaExceed","count":3}"#,
            #"{"code":"LogStoreNotExist","count":4}"#, #"{"code":"Unauthorized","count":4}"#,
        ]
    )
    func refusals(fault: String) throws {
        let forwarder = try forwarder()
        // A quota is paced by what went through before.
        for number in 1...10 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 10 })
        try first.fail(fault)
        source.offer(11)
        #expect(source.state.wait { $0.acknowledged.contains(11) })
        #expect(try first.has(packet: 11))
        #expect(try !second.has(packet: 11))
        stop(forwarder)
    }

    @Test("When none answers they are tried in turn, and the one that answers is used")
    func allSilent() throws {
        let forwarder = try forwarder()
        try first.fail(#"{"reset":true}"#)
        try second.fail(#"{"reset":true}"#)
        source.offer(1)
        #expect(recorder.lines.wait { $0.joined().contains("finds none of its endpoints") })
        try second.wellAgain()
        #expect(source.state.wait { $0.acknowledged == [1] })
        #expect(try second.has(packet: 1))
        #expect(forwarder.status[0].endpoint == "\(try second.endpoint())")
        stop(forwarder)
    }

    @Test("Of three endpoints behind a proxy the first is dead, and the second is used")
    func three() throws {
        let tunnel = try TunnelProxy(.socks5)
        // Nobody listens on it any more.
        let gone = try ScriptedServer()
        gone.stop()
        let ports = [gone.port, first.port, second.port]
        let endpoints = try ports.map { try Endpoint(parsing: "http://nowhere.invalid:\($0)") }
        let proxy = try Proxy(parsing: "socks5h://127.0.0.1:\(tunnel.port)")
        let forwarder = try forwarder {
            $0.endpoints = endpoints
            $0.transfer.transport.proxy = proxy
        }
        for number in 1...5 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 5 })
        for number in 1...5 as ClosedRange<Int64> { #expect(try first.has(packet: number)) }
        let status = forwarder.status[0]
        #expect(status.endpoint == "http://nowhere.invalid:\(first.port)")
        #expect(status.endpoints.count == 3)
        let visits = tunnel.visits.now.map(\.target)
        #expect(visits.contains("demo-project.nowhere.invalid:\(gone.port)"))
        #expect(!visits.contains("demo-project.nowhere.invalid:\(second.port)"))
        stop(forwarder)
        tunnel.stop()
    }

    @Test("An https endpoint that is not to be trusted leads to the next that is listed")
    func untrusted() throws {
        let tls = try TLSServer(for: "localhost")
        defer { tls.stop() }
        let endpoints = [
            try Endpoint(parsing: "https://localhost:\(tls.port)"), try second.endpoint(),
        ]
        let forwarder = try forwarder { $0.endpoints = endpoints }
        #expect(source.offerAndWait(1))
        #expect(try second.has(packet: 1))
        #expect(forwarder.status[0].endpointReason?.contains("CURLE_60") == true)
        stop(forwarder)
    }
}

/// A failed address of a host that has others.
@Suite struct OtherAddressTests {
    private let now = Moment(nanoseconds: 1_000_000_000_000)

    private func refused() -> Judgement {
        Judge.judge(TransportProblem(.couldNotConnect, detail: "refused"))
    }

    @Test("It moves no gate, and leads to no other endpoint")
    func endpointStays() throws {
        var settings = try Samples.destination(port: 1)
        settings.endpoints = try ["http://127.0.0.1:1", "http://127.0.0.1:2"].map {
            try Endpoint(parsing: $0)
        }
        var endpoints = DestinationEndpoints(settings, EndpointStates(), places: 4)
        let first = endpoints.current
        for _ in 0..<5 {
            let change = endpoints.ended(
                first,
                refused().atAnotherAddress,
                after: .seconds(6),
                now
            )
            #expect(change == nil)
        }
        for scope in [GateScope.endpoint, .project, .logstore] {
            let verdict = refused().atAnotherAddress.verdict(for: scope, isPacketAtFault: false)
            #expect(verdict == Gate.Verdict.none)
        }
        // The last address that fails is the endpoint's.
        #expect(endpoints.ended(first, refused(), after: .seconds(6), now) != nil)
    }

    @Test("An answer stays what it is")
    func answers() {
        let answer = SLSAnswer(status: 500, headers: [], body: [])
        let judgement = Judge.judge(answer)
        #expect(judgement.atAnotherAddress.action == judgement.action)
    }
}

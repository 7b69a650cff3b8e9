import Crypto
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// What pauses a destination or a logstore, and what ends that.
@Suite(.timeLimit(.minutes(1))) struct PauseTests {
    static let patient = Backoff(first: .seconds(600), longest: .seconds(600))
    static let quick = Backoff(first: .milliseconds(1), longest: .milliseconds(10))

    /// Refuses until told otherwise.
    final class Door: Sendable {
        let isOpen = Locked(false)
        let refusal: ScriptedServer.Reply

        init(_ refusal: ScriptedServer.Reply) {
            self.refusal = refusal
        }

        func server() throws -> ScriptedServer {
            try ScriptedServer { [self] _, _ in isOpen.withLock { $0 } ? .stored : refusal }
        }
    }

    @Test(
        "A refused credential pauses, and a rotation wakes at once what it stopped",
        arguments: [
            ("SignatureNotMatch", "", true), ("SecurityTokenExpired", "", true),
            ("Unauthorized", "The security token you provided has expired", true),
            ("Unauthorized", "denied by sts or ram, action: log:PostLogStoreLogs", false),
        ]
    )
    func rotation(code: String, message: String, isWhole: Bool) throws {
        let source = try MemorySource()
        let door = Door(.answer(401, code: code, message: message))
        let rig = try Rig(source, door.server()) { $0.retryWaits = Self.patient }
        for number in 1...5 as ClosedRange<Int64> { source.offer(number) }
        let event = isWhole ? "destination is paused" : "logstore is paused"
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains(event) } })
        let line = rig.recorder.lines.now.first { $0.contains(event) } ?? ""
        #expect(line.contains(#""result":"LOG_PRODUCER_SEND_UNAUTHORIZED""#))
        #expect(line.contains(#""result_number":6"#))
        #expect(line.contains(#""request_id":"5642FC2399248C8F7B0145FD""#))
        #expect(line.contains(#""remedy":""#))
        let asked = rig.server.requests.now.count
        door.isOpen.withLock { $0 = true }
        // The first wait is ten minutes.
        rig.forwarder.credentialsChanged()
        #expect(source.state.wait { $0.acknowledged.count == 5 })
        rig.stop()
        #expect(asked <= 2, "nothing is sent while it is paused")
        let end = isWhole ? "destination delivers again" : "logstore delivers again"
        #expect(rig.recorder.count(of: end) == 1)
        #expect(rig.recorder.count(of: event) == 1)
    }

    @Test("A credential that was changed does not answer for refusals of the old one")
    func outdated() throws {
        let source = try MemorySource()
        let old = Samples.credential
        let new = Credential(accessKeyID: "newkeyid", secret: Secret("new-secret"))
        let holder = Locked<Locked<Credential?>?>(nil)
        let server = try ScriptedServer { request, _ in
            guard request.header("authorization")?.contains(old.accessKeyID) == true else {
                return .stored
            }
            // It changes while the request is on its way.
            holder.withLock { $0 }?.withLock { $0 = new }
            return .answer(401, code: "SignatureNotMatch")
        }
        let rig = try Rig(source, server) { $0.retryWaits = Self.patient }
        holder.withLock { $0 = rig.credential }
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(server.requests.now.count == 2)
    }

    @Test("The status tells why and until when")
    func status() throws {
        let source = try MemorySource()
        let door = Door(.answer(404, code: "LogStoreNotExist", message: "no such logstore"))
        let rig = try Rig(source, door.server()) { $0.retryWaits = Self.patient }
        source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("logstore is paused") } })
        #expect(eventually { rig.status.outlets.first.map { $0.state != .running } ?? false })
        let outlet = rig.status.outlets[0]
        guard case .paused(let reason, let until?) = outlet.state else {
            Issue.record("it is paused until a known time")
            return rig.stop()
        }
        #expect(reason.hasPrefix("404 LogStoreNotExist: no such logstore; create the logstore"))
        #expect(until > .now)
        #expect(outlet.failures == [.notFound: 1])
        #expect(outlet.lastFailure?.result == .sendUnauthorized)
        #expect(outlet.waiting == 1 && outlet.retrying == 1 && outlet.inFlight == 0)
        #expect(rig.status.state == .running, "the destination has other logstores")
        rig.stop()
        #expect(rig.status.outlets[0].waiting == 0)
    }

    @Test(
        "A logstore rests after its last try until a new packet or a flush",
        arguments: [true, false]
    )
    func rests(byFlush: Bool) throws {
        let source = try MemorySource()
        let door = Door(.answer(404, code: "LogStoreNotExist"))
        let rig = try Rig(source, door.server()) {
            $0.retryWaits = Backoff(first: .milliseconds(1), longest: .seconds(600), times: 2)
        }
        source.offer(1)
        #expect(rig.server.requests.wait { $0.count == 3 })
        #expect(eventually { rig.status.outlets.first?.failures == [.notFound: 3] })
        door.isOpen.withLock { $0 = true }
        if byFlush { rig.forwarder.endRest(["app"]) } else { source.offer(2) }
        #expect(source.state.wait { Set($0.acknowledged) == (byFlush ? [1] : [1, 2]) })
        rig.stop()
    }

    @Test("Nothing is sent before the time that SLS asks for")
    func retryAfter() throws {
        let source = try MemorySource()
        let times = Locked<[Moment]>([])
        let server = try ScriptedServer { _, number in
            times.withLock { $0.append(.now) }
            return number == 0 ? .answer(503, code: "ServerBusy", retryAfter: 1) : .stored
        }
        let rig = try Rig(source, server) { $0.retryWaits = Self.quick }
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let seen = times.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen[1] - seen[0] >= .milliseconds(990))
    }

    @Test("A refusal for the time that another signature cannot cure pauses the endpoint")
    func clock() throws {
        let source = try MemorySource()
        let door = Door(.answer(400, code: "RequestTimeExpired"))
        let rig = try Rig(source, door.server()) { $0.retryWaits = Self.quick }
        source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("endpoint is paused") } })
        #expect(rig.status.resigned == 0)
        door.isOpen.withLock { $0 = true }
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.recorder.count(of: "endpoint answers again") == 1)
    }

    @Test("Unauthorized packets are dropped after one more try where that is wanted")
    func dropUnauthorized() throws {
        let source = try MemorySource()
        let server = try ScriptedServer { request, _ in
            request.logstore == "secret" ? .answer(401, code: "Unauthorized") : .stored
        }
        let rig = try Rig(source, server) {
            $0.dropUnauthorized = true
            $0.retryWaits = Self.quick
        }
        for number in 1...20 as ClosedRange<Int64> { source.offer(number, logstore: "secret") }
        source.offer(21)
        #expect(source.state.wait { $0.discarded.count == 20 && $0.acknowledged == [21] })
        rig.stop()
        let state = source.state.now
        #expect(state.discarded.map(\.packet).sorted() == Array(1...20))
        #expect(state.discarded.allSatisfy { $0.reason.code == "Unauthorized" })
        #expect(rig.status.discarded == 20)
        #expect(server.requests.now.count { $0.logstore == "secret" } == 40)
        #expect(rig.status.leased == 0)
    }
}

import Configuration
import Crypto
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// What pauses a destination or a logstore, and what ends that.
@Suite(.timeLimit(.minutes(10))) struct PauseTests {
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
        let door = Door(.answer(401, code: code, message: message))
        let rig = try Rig(door.server()) { $0.transfer.retry = Self.patient }
        for number in 1...5 as ClosedRange<Int64> { rig.source.offer(number) }
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
        #expect(rig.source.state.wait { $0.acknowledged.count == 5 })
        rig.stop()
        #expect(asked <= 2, "nothing is sent while it is paused")
        let end = isWhole ? "destination delivers again" : "logstore delivers again"
        #expect(rig.recorder.count(of: end) == 1)
        #expect(rig.recorder.count(of: event) == 1)
    }

    @Test("A credential that was changed does not answer for refusals of the old one")
    func outdated() throws {
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
        let rig = try Rig(server) { $0.transfer.retry = Self.patient }
        holder.withLock { $0 = rig.credential }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(server.requests.now.count == 2)
    }

    @Test("The status tells why and until when")
    func status() throws {
        let door = Door(.answer(404, code: "LogStoreNotExist", message: "no such logstore"))
        let rig = try Rig(door.server()) { $0.transfer.retry = Self.patient }
        rig.source.offer(1)
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
        let door = Door(.answer(404, code: "LogStoreNotExist"))
        let rig = try Rig(door.server()) {
            $0.transfer.retry = Backoff(first: .milliseconds(1), longest: .seconds(600), times: 2)
        }
        rig.source.offer(1)
        #expect(rig.server.requests.wait { $0.count == 3 })
        #expect(eventually { rig.status.outlets.first?.failures == [.notFound: 3] })
        door.isOpen.withLock { $0 = true }
        if byFlush { rig.forwarder.endRest(["app"]) } else { rig.source.offer(2) }
        #expect(rig.source.state.wait { Set($0.acknowledged) == (byFlush ? [1] : [1, 2]) })
        rig.stop()
    }

    @Test("Nothing is sent before the time that SLS asks for")
    func retryAfter() throws {
        let times = Locked<[Moment]>([])
        let server = try ScriptedServer { _, number in
            times.withLock { $0.append(.now) }
            return number == 0 ? .answer(503, code: "ServerBusy", retryAfter: 1) : .stored
        }
        let rig = try Rig(server) { $0.transfer.retry = Self.quick }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let seen = times.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen[1] - seen[0] >= .milliseconds(990))
    }

    @Test("A refusal for the time that another signature cannot cure pauses the endpoint")
    func clock() throws {
        let door = Door(.answer(400, code: "RequestTimeExpired"))
        let rig = try Rig(door.server()) { $0.transfer.retry = Self.quick }
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("endpoint is paused") } })
        #expect(rig.status.resigned == 0)
        door.isOpen.withLock { $0 = true }
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.recorder.count(of: "endpoint answers again") == 1)
    }

    @Test("Unauthorized packets are dropped after one more try where that is wanted")
    func dropUnauthorized() throws {
        let server = try ScriptedServer { request, _ in
            request.logstore == "secret" ? .answer(401, code: "Unauthorized") : .stored
        }
        let rig = try Rig(server) {
            $0.transfer.dropsUnauthorized = true
            $0.transfer.retry = Self.quick
        }
        for number in 1...20 as ClosedRange<Int64> { rig.source.offer(number, logstore: "secret") }
        rig.source.offer(21)
        #expect(rig.source.state.wait { $0.discarded.count == 20 && $0.acknowledged == [21] })
        rig.stop()
        let state = rig.source.state.now
        #expect(state.discarded.map(\.packet).sorted() == Array(1...20))
        #expect(state.discarded.allSatisfy { $0.reason.code == "Unauthorized" })
        #expect(rig.status.discarded == 20)
        #expect(server.requests.now.count { $0.logstore == "secret" } == 40)
        #expect(rig.status.leased == 0)
    }
}

@Suite(.timeLimit(.minutes(10))) struct WaitingAndHoldingTests {
    @Test("Without a credential nothing is taken from the queue, and a rotation wakes it")
    func missingCredential() throws {
        let rig = try Rig(ScriptedServer(), credential: nil)
        for number in 1...3 as ClosedRange<Int64> { rig.source.offer(number) }
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        // The status follows the line at the end of the same turn.
        let reason = "there is no credential of the name 'default'"
        #expect(eventually { rig.status.state == .waitingForCredential(reason: reason) })
        #expect(rig.source.state.now.handedOver == 0)
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(rig.source.state.wait { $0.acknowledged.count == 3 })
        #expect(rig.status.state == .running)
        rig.stop()
        #expect(rig.recorder.count(of: "destination waits for its credential") == 1)
        #expect(rig.recorder.count(of: "destination has its credential") == 1)
    }

    @Test("A credential that comes by itself is found by looking again")
    func looksAgain() throws {
        let rig = try Rig(ScriptedServer(), credential: nil)
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { !$0.isEmpty })
        rig.credential.withLock { $0 = Samples.credential }
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
    }

    @Test("Packets refused with the old credential are sent at once with the new one")
    func rotation() throws {
        let isRotated = Locked(false)
        let server = try ScriptedServer { _, _ in
            isRotated.withLock { $0 } ? .stored : .answer(401, code: "Unauthorized")
        }
        let rig = try Rig(server)
        rig.source.offer(1)
        #expect(rig.server.requests.wait { $0.count >= 3 })
        isRotated.withLock { $0 = true }
        rig.forwarder.credentialsChanged()
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
    }

    @Test("Secret and token show nowhere, whatever a server echoes")
    func secrets() throws {
        let server = try ScriptedServer { request, number in
            let echo = "\(request.head) \(Samples.secret) \(Samples.token)"
            return number == 0 ? .answer(401, code: "Unauthorized", message: echo) : .stored
        }
        let rig = try Rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let shown = rig.recorder.lines.now.joined() + "\(rig.status)"
        #expect(shown.contains("Unauthorized"))
        #expect(!shown.contains(Samples.secret))
        #expect(!shown.contains(Samples.token))
    }

    @Test("A packet that cannot be sent as it is goes back to be taken apart, and the others go on")
    func unsendable() throws {
        let source = MemorySource()
        let rig = try Rig(source, ScriptedServer())
        source.offer(1, logstore: "not/a/name", rows: 1)
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged == [2] && $0.dead.count == Samples.logsPerRow })
        rig.stop()
        let state = source.state.now
        #expect(state.isolated.allSatisfy { $0.reason.code == "PacketUnsendable" })
        #expect(state.dead.allSatisfy { $0.reason.message.contains("'not/a/name'") })
        #expect(rig.status.isolated == state.isolated.count)
        #expect(rig.status.leased == 0)
        #expect(rig.server.requests.now.count == 1)
    }

    @Test(
        "A packet damaged in memory is read from disk, and is given back when it is damaged there",
        arguments: [Destination.BodyCompression.lz4, .zstd]
    )
    func damaged(compression: Destination.BodyCompression) throws {
        let rig = try Rig(ScriptedServer(), compression: compression)
        rig.source.offer(1, damaged: true)
        rig.source.offer(2)
        #expect(rig.source.state.wait { $0.acknowledged == [2] && $0.isolated.count == 1 })
        rig.stop()
        #expect(rig.source.state.now.reads == 1)
        #expect(rig.source.state.now.isolated.first?.reason.message.contains("damaged") == true)
        #expect(rig.status.leased == 0)
    }

    @Test("A disk that does not answer is asked again later, and only about its packets")
    func unreadable() throws {
        let source = MemorySource(isRecent: false)
        source.state.change { $0.failingReads = 3 }
        let rig = try Rig(source, ScriptedServer())
        #expect(source.offerAndWait(1))
        rig.stop()
        #expect(rig.status.failures == [.queue: 3])
        #expect(rig.status.lastFailure?.result == .persistentError)
        #expect(rig.status.leased == 0)
    }

    @Test("A packet that the queue cannot read goes back to the queue, and the others go on")
    func voided() throws {
        let rig = try Rig(ScriptedServer())
        for number in 1...100 as ClosedRange<Int64> { rig.source.offer(number, lost: true) }
        #expect(rig.source.offerAndWait(101))
        rig.stop()
        #expect(rig.status.isolated == 0)
        #expect(rig.status.voided == 100)
        #expect(rig.status.leased == 0)
        #expect(rig.status.failures.isEmpty)
    }
}

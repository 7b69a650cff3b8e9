import Configuration
import Crypto
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// Two destinations of one project: its quota is theirs together, and nothing else.
@Suite(.timeLimit(.minutes(10))) struct ProjectQuotaTests {
    let source = MemorySource()

    func settings(
        _ name: String,
        port: Int,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws -> Destination {
        var settings = try Samples.destination(port: port, name: name)
        settings.credential = name
        if name == "other" { settings.project = "other-project" }
        adjusting(&settings)
        return settings
    }

    func forwarder(
        port: Int,
        _ credentials: @escaping @Sendable (String) -> Credential? = { _ in TestSandbox.key },
        at time: WallTime? = nil,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws -> Forwarder {
        try Forwarder.started(
            ["app", "audit", "other"].map { try settings($0, port: port, adjusting: adjusting) },
            source: source,
            credentials: credentials,
            now: { time ?? .now }
        )
    }

    @Test("A refusal for the project's quota slows the project's other destination down")
    func shared() throws {
        let times = Locked<[Moment]>([])
        let server = try ScriptedServer { _, number in
            times.withLock { $0.append(.now) }
            return number == 0 ? .answer(403, code: "ProjectQuotaExceed") : .stored
        }
        let forwarder = try forwarder(port: server.port)
        source.offer(1, to: "app")
        #expect(server.requests.wait { $0.count == 1 })
        #expect(eventually { forwarder.status[0].failures[.quota] == 1 })
        source.offer(2, to: "audit", logstore: "audit-log")
        #expect(eventually { forwarder.status[1].rate != nil }, "its status names the pace")
        #expect(source.state.wait { $0.acknowledged.count == 2 })
        forwarder.stop(server)
        // Nothing is known but that it is too much now.
        let seen = times.withLock { $0 }
        #expect(seen[1] - seen[0] > .milliseconds(370))
        #expect(seen[2] - seen[0] < .seconds(3).calibrated())
    }

    @Test("When SLS asks to be left alone for the quota, no destination of the project sends")
    func held() throws {
        let times = Locked<[Moment]>([])
        let server = try ScriptedServer { _, number in
            times.withLock { $0.append(.now) }
            return number == 0 ? .answer(403, code: "WriteQuotaExceed", retryAfter: 2) : .stored
        }
        let forwarder = try forwarder(port: server.port)
        source.offer(1, to: "app")
        #expect(eventually { forwarder.status[1].isPaused })
        source.offer(2, to: "audit", logstore: "audit-log")
        source.offer(3, to: "other")
        #expect(source.state.wait { $0.acknowledged.first == 3 })
        #expect(forwarder.status[2].state == .running)
        #expect(source.state.wait { $0.acknowledged.count == 3 })
        forwarder.stop(server)
        let seen = times.withLock { $0 }
        #expect(seen.count == 4)
        #expect(seen[2] - seen[0] >= .milliseconds(1990))
    }

    @Test("Two destinations use up the quota of their project, each its part, and waste little")
    func economy() throws {
        let use = try QuotaUse.good { try ProjectQuotaTests().takeTurns() }
        #expect(use.used > 0.85)
        #expect(use.refused > 0, "the limit was felt")
        #expect(use.refused < 0.10)
    }

    private func takeTurns() throws -> QuotaUse {
        let sandbox = try TestSandbox()
        let client = ControlClient(port: sandbox.port)
        let limit = #"{"project":"demo-project","requests_per_second":20}"#
        #expect(try client.send("POST", "/limits", limit).hasPrefix("HTTP/1.1 200"))
        for number in 1...60 as ClosedRange<Int64> {
            source.offer(number, to: "app", rows: 1)
            source.offer(100 + number, to: "audit", logstore: "audit-log", rows: 1)
        }
        // Somebody who always may send takes no turn of those who wait for the pace.
        for number in 1001...1200 as ClosedRange<Int64> {
            source.offer(number, to: "other", rows: 1)
        }
        let began = Moment.now
        let forwarder = try forwarder(port: sandbox.port, at: TestSandbox.time)
        #expect(
            source.state.wait(.seconds(30)) { $0.acknowledged.count { $0 < 1000 } >= 80 }
        )
        let half = source.state.now.acknowledged.filter { $0 < 1000 }.prefix(80)
        #expect((30...50).contains(half.count { $0 <= 100 }), "they take turns")
        #expect(source.state.wait(.seconds(30)) { $0.acknowledged.count == 320 })
        let elapsed = (Moment.now - began) / .seconds(1)
        forwarder.stop(sandbox)
        let refused = forwarder.status.reduce(0) { $0 + $1.failures[.quota, default: 0] }
        // The bucket is full at first, with one second's worth.
        return QuotaUse(
            used: 120 / (20 * (elapsed + 1)),
            refused: Double(refused) / Double(refused + 120)
        )
    }

    @Test("A credential that is refused pauses the destination that has it, and not the other")
    func credentials() throws {
        let bad = Credential(accessKeyID: "badkeyid", secret: Secret("bad-secret"))
        let server = try ScriptedServer { request, _ in
            request.header("authorization")?.contains(bad.accessKeyID) == true
                ? .answer(401, code: "SignatureNotMatch") : .stored
        }
        let forwarder = try forwarder(
            port: server.port,
            { $0 == "app" ? bad : Samples.credential },
            adjusting: { $0.transfer.retry = PauseTests.patient }
        )
        source.offer(1, to: "app")
        #expect(eventually { forwarder.status[0].failures[.unauthorized] == 1 })
        for number in 2...9 as ClosedRange<Int64> {
            source.offer(number, to: "audit", logstore: "audit-log")
        }
        #expect(source.state.wait { $0.acknowledged.count == 8 })
        #expect(forwarder.status[1].state == .running)
        forwarder.stop(server)
    }

    @Test("A quota is kept as long as a destination writes to the project of that region")
    func registry() throws {
        let quotas = SharedGates<QuotaKey, ProjectQuota>()
        func quota(of settings: Destination, places: Int = 1) -> ProjectQuota {
            quotas.join(settings.quota, places: places, waits: .retry)
        }
        func settings(
            _ endpoint: String,
            region: String? = nil,
            project: String = "demo-project"
        ) throws -> Destination {
            var settings = Destination(name: "app")
            settings.endpoints = [try Endpoint(parsing: endpoint)]
            settings.project = project
            settings.region = region
            return settings
        }
        let app = try settings("cn-hangzhou.log.aliyuncs.com")
        let first = quota(of: app, places: 16)
        // Another endpoint of the region leads to the same project.
        let global = try settings("log-global.aliyuncs.com", region: "cn-hangzhou")
        let second = quota(of: global, places: 8)
        #expect(first === second)
        #expect(first.gate.limit == 24)
        let elsewhere = try settings("cn-beijing.log.aliyuncs.com")
        #expect(quota(of: elsewhere) !== first)
        let other = try settings("cn-hangzhou.log.aliyuncs.com", project: "other-project")
        #expect(quota(of: other) !== first)
        let here = try [1, 2].map { try settings("http://127.0.0.1:\($0)", region: "local") }
        #expect(quota(of: here[0]) !== quota(of: here[1]))
        #expect(quotas.count == 5)
        quotas.release(second, places: 8)
        #expect(first.gate.limit <= 16 && quotas.count == 5)
        quotas.release(first, places: 16)
        #expect(quotas.count == 4)
        #expect(quota(of: app, places: 16) !== first)
    }
}

import Delivery
import Queue
import Rendering
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

/// A destination that is taken out of the file while the gateway runs.
@Suite(.timeLimit(.minutes(1))) struct RemovedDestinationTests {
    private static let path = "/admin/destinations/web"

    let directory = TemporaryDirectory()
    let partner: SandboxPartner
    private let isDescribed = Locked(true)

    init() throws {
        partner = try SandboxPartner(.silent)
    }

    private func gateway() throws -> Gateway {
        let (directory, partner, isDescribed) = (directory, partner, isDescribed)
        @Sendable func read(
            _ decided: [String: DecidedSettings]
        ) throws -> GatewayConfiguration {
            try SandboxedGateway.configuration(partner, directory) { configuration in
                guard isDescribed.withLock({ $0 }) else { return }
                var web = configuration.destinations[0]
                web.name = "web"
                web.logstore = .named("web-log")
                web.transfer.packet.age = .seconds(3600)
                web.labels.topic = decided["web"] == nil ? "" : "decided"
                configuration.destinations.append(web)
            }
        }
        return try Gateway(try read([:]), journal: .silent) {
            decided,
            _ throws(ConfigurationProblems) in
            do {
                return try read(decided)
            } catch {
                throw ConfigurationProblems(problems: [])
            }
        }
    }

    private func ask(
        _ gateway: Gateway,
        _ method: String,
        _ path: String = path,
        _ body: String = ""
    ) throws -> TestAnswer {
        try TestClient(address: gateway.adminAddress).send(
            method,
            path,
            Array(body.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
    }

    private func remove(from gateway: Gateway) {
        isDescribed.withLock { $0 = false }
        gateway.configurationReload.reread()
    }

    private func post(_ gateway: Gateway) throws -> Int {
        try TestClient(address: gateway.deviceAddress).post(
            "/logstores/web-log/track",
            #"{"__logs__":[{"a":"1"}]}"#.utf8
        ).status
    }

    @Test("A removed destination is shown as removed, and can be paused, resumed and flushed")
    func shown() throws {
        defer { partner.stop() }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        #expect(try ask(gateway, "GET").text.contains(#""configured":true,"notice":null"#))
        #expect(try ask(gateway, "POST", Self.path + "/pause").status == 200)
        remove(from: gateway)
        let note = #""configured":false,"notice":"removed from the configuration"#
        for path in [Self.path, "/admin/destinations", "/admin/status"] {
            #expect(try ask(gateway, "GET", path).text.contains(note), "\(path)")
        }
        for (path, view) in [(Self.path, View.destinations), ("/admin/status", .status)] {
            let text = try view.text(of: ask(gateway, "GET", path).body)
            #expect(text.contains("removed from the configuration"), "\(text)")
        }
        #expect(eventually { gateway.report.destinations[1].delivery.state == .held })
        #expect(gateway.report.queue.destinations["web"]?.ledger.queued == 1)
        #expect(try ask(gateway, "POST", Self.path + "/resume").status == 200)
        let flushed = try ask(gateway, "POST", Self.path + "/flush")
        #expect(flushed.status == 200 && flushed.text.contains(note), "\(flushed.text)")
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })

        isDescribed.withLock { $0 = true }
        gateway.configurationReload.reread()
        #expect(try ask(gateway, "GET").text.contains(#""configured":true,"notice":null"#))
    }

    @Test(
        "Its settings cannot be changed, which is said with the remedy; what was decided can be forgotten"
    )
    func changes() throws {
        defer { partner.stop() }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try ask(gateway, "PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
        remove(from: gateway)
        let patched = try ask(gateway, "PATCH", Self.path, #"{"topic":"other"}"#)
        #expect(patched.status == 409, "\(patched.text)")
        #expect(patched.text.contains("add it again and send SIGHUP"), "\(patched.text)")
        // The others are changed as before.
        let other = "/admin/destinations/default"
        #expect(try ask(gateway, "PATCH", other, #"{"topic":"new"}"#).status == 200)
        #expect(try ask(gateway, "GET").text.contains(#""configured":false"#))

        let reset = try ask(gateway, "DELETE")
        #expect(reset.status == 200 && reset.text.contains(#""decided":{}"#), "\(reset.text)")
        #expect(try ask(gateway, "DELETE").status == 200)
        #expect(try gateway.store.recall()[StoredDecisions.setting(ofDestination: "web")] == nil)
        isDescribed.withLock { $0 = true }
        gateway.configurationReload.reread()
        #expect(gateway.configuration.withLock { $0.destinations[1].labels.topic } == "")
    }

    @Test(
        "After the restart it does not run: what it left can be taken back, and the rest is refused"
    )
    func afterRestart() throws {
        defer { partner.stop() }
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            #expect(try ask(gateway, "PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
            #expect(try ask(gateway, "POST", Self.path + "/pause").status == 200)
            #expect(try post(gateway) == 200)
        }
        isDescribed.withLock { $0 = false }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        for (method, path, status) in [
            ("GET", Self.path, 404), ("PATCH", Self.path, 409), ("POST", Self.path + "/pause", 409),
            ("POST", Self.path + "/flush", 409),
        ] {
            let answer = try ask(gateway, method, path, method == "PATCH" ? "{}" : "")
            #expect(answer.status == status, "\(method) \(path): \(answer.text)")
            #expect(answer.text.contains("1 log waits for it"), "\(answer.text)")
        }
        #expect(try ask(gateway, "DELETE").text.contains(#"{"name":"web"}"#))
        #expect(try ask(gateway, "POST", Self.path + "/resume").status == 200)
        #expect(try gateway.store.recall().isEmpty)
        #expect(gateway.decided.withLock { $0.held.isEmpty && $0.leftOut.isEmpty })
        #expect(try ask(gateway, "DELETE").status == 409)
    }

    @Test("What was decided about a destination is in force again when SIGHUP brings it back")
    func decidedReturns() throws {
        defer { partner.stop() }
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            #expect(try ask(gateway, "PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
            #expect(try ask(gateway, "POST", Self.path + "/pause").status == 200)
        }
        isDescribed.withLock { $0 = false }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(gateway.decided.withLock { $0.settings.isEmpty && $0.leftOut.count == 1 })
        isDescribed.withLock { $0 = true }
        gateway.configurationReload.reread()
        #expect(gateway.configuration.withLock { $0.destinations[1].labels.topic } == "decided")
        #expect(gateway.decided.withLock { $0.settings.count == 1 && $0.leftOut.isEmpty })
        #expect(eventually { gateway.report.destinations.last?.delivery.state == .held })
        #expect(try ask(gateway, "GET").text.contains(#""decided":{"topic":"decided"}"#))
    }
}

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
@Suite(.timeLimit(.minutes(10))) struct RemovedDestinationTests {
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

    private func describe(_ isDescribed: Bool, in gateway: Gateway) {
        self.isDescribed.withLock { $0 = isDescribed }
        gateway.configurationReload.reread()
    }

    private func post(_ gateway: Gateway) throws -> Int {
        let body = #"{"__logs__":[{"a":"1"}]}"#
        return try gateway.deviceClient.post("/logstores/web-log/track", body.utf8).status
    }

    @Test("A removed destination is shown as removed, and can be paused, resumed and flushed")
    func shown() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        #expect(
            try gateway.ask("GET", Self.path).text.contains(#""configured":true,"notice":null"#)
        )
        #expect(try gateway.ask("POST", Self.path + "/pause").status == 200)
        describe(false, in: gateway)
        let note = #""configured":false,"notice":"removed from the configuration"#
        for path in [Self.path, "/admin/destinations", "/admin/status"] {
            #expect(try gateway.ask("GET", path).text.contains(note), "\(path)")
        }
        for (path, view) in [(Self.path, View.destinations), ("/admin/status", .status)] {
            let text = try view.text(of: gateway.ask("GET", path).body)
            #expect(text.contains("removed from the configuration"), "\(text)")
        }
        #expect(eventually { gateway.report.destinations[1].delivery.state == .held })
        #expect(gateway.report.queue.destinations["web"]?.ledger.queued == 1)
        #expect(try gateway.ask("POST", Self.path + "/resume").status == 200)
        let flushed = try gateway.ask("POST", Self.path + "/flush")
        #expect(flushed.status == 200 && flushed.text.contains(note), "\(flushed.text)")
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })

        describe(true, in: gateway)
        #expect(
            try gateway.ask("GET", Self.path).text.contains(#""configured":true,"notice":null"#)
        )
    }

    @Test(
        "Its settings cannot be changed, which is said with the remedy; what was decided can be forgotten"
    )
    func changes() throws {
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try gateway.ask("PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
        describe(false, in: gateway)
        let patched = try gateway.ask("PATCH", Self.path, #"{"topic":"other"}"#)
        #expect(patched.status == 409, "\(patched.text)")
        #expect(patched.text.contains("add it again and send SIGHUP"), "\(patched.text)")
        // The others are changed as before.
        let other = "/admin/destinations/default"
        #expect(try gateway.ask("PATCH", other, #"{"topic":"new"}"#).status == 200)
        #expect(try gateway.ask("GET", Self.path).text.contains(#""configured":false"#))

        let reset = try gateway.ask("DELETE", Self.path)
        #expect(reset.status == 200 && reset.text.contains(#""decided":{}"#), "\(reset.text)")
        #expect(try gateway.ask("DELETE", Self.path).status == 200)
        let setting = StoredDecisions.setting(ofDestination: "web")
        #expect(try gateway.store.decisions.recall()[setting] == nil)
        describe(true, in: gateway)
        #expect(gateway.configuration.withLock { $0.destinations[1].labels.topic } == "")
    }

    @Test(
        "After the restart it does not run: what it left can be taken back, and the rest is refused"
    )
    func afterRestart() throws {
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            #expect(try gateway.ask("PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
            #expect(try gateway.ask("POST", Self.path + "/pause").status == 200)
            #expect(try post(gateway) == 200)
        }
        isDescribed.withLock { $0 = false }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        for (method, path, status) in [
            ("GET", Self.path, 404), ("PATCH", Self.path, 409), ("POST", Self.path + "/pause", 409),
            ("POST", Self.path + "/flush", 409),
        ] {
            let answer = try gateway.ask(method, path, method == "PATCH" ? "{}" : "")
            #expect(answer.status == status, "\(method) \(path): \(answer.text)")
            #expect(answer.text.contains("1 log waits for it"), "\(answer.text)")
        }
        #expect(try gateway.ask("DELETE", Self.path).text.contains(#"{"name":"web"}"#))
        #expect(try gateway.ask("POST", Self.path + "/resume").status == 200)
        #expect(try gateway.store.decisions.recall().isEmpty)
        #expect(gateway.decided.withLock { $0.held.isEmpty && $0.leftOut.isEmpty })
        #expect(try gateway.ask("DELETE", Self.path).status == 409)
    }

    @Test("What was decided about a destination is in force again when SIGHUP brings it back")
    func decidedReturns() throws {
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            #expect(try gateway.ask("PATCH", Self.path, #"{"topic":"decided"}"#).status == 200)
            #expect(try gateway.ask("POST", Self.path + "/pause").status == 200)
        }
        isDescribed.withLock { $0 = false }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(gateway.decided.withLock { $0.settings.isEmpty && $0.leftOut.count == 1 })
        describe(true, in: gateway)
        #expect(gateway.configuration.withLock { $0.destinations[1].labels.topic } == "decided")
        #expect(gateway.decided.withLock { $0.settings.count == 1 && $0.leftOut.isEmpty })
        #expect(eventually { gateway.report.destinations.last?.delivery.state == .held })
        #expect(try gateway.ask("GET", Self.path).text.contains(#""decided":{"topic":"decided"}"#))
    }
}

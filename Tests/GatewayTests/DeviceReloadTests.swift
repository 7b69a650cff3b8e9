import Configuration
import Crypto
import HTTP
import Net
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway

/// Reloads that change what devices may send.
@Suite(.timeLimit(.minutes(1))) struct DeviceReloadTests {
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test("A reload of devices.accept applies to the next request; metrics keep what was counted")
    func dialects() throws {
        let trial = try SandboxedGateway()
        let event = Array(#"{"event":1}"#.utf8)
        func status() throws -> Int {
            try trial.devices.post("/services/collector", event).status
        }
        func routes() throws -> Set<String> {
            let lines = try trial.admin("/metrics").text.split(separator: "\n")
            let parts = lines.flatMap { $0.matches(of: /route="([a-z]+)"/) }
            return Set(parts.map { String($0.output.1) })
        }
        #expect(try routes().isSuperset(of: ["splunk", "loki", "elastic", "otlp", "logs"]))
        #expect(try status() == 200)
        var new = trial.gateway.configuration.withLock { $0 }
        new.devices.accepted = [.json, .otlp]
        trial.gateway.reload(new)
        #expect(try status() == 404)
        let left = try routes()
        #expect(left.isSuperset(of: ["logs", "otlp", "splunk", "healthz", "other"]))
        #expect(left.isDisjoint(with: ["loki", "elastic", "track", "putlogs", "servertime"]))
        #expect(trial.delivered(1))
        new.devices.accepted = .all
        trial.gateway.reload(new)
        #expect(try status() == 200)
    }

    @Test("A reload replaces the list of origins for the next request")
    func origins() throws {
        let trial = try SandboxedGateway {
            $0.devices.cors.origins = OriginList(["https://app.example.com"])
        }
        func status(_ origin: String) throws -> Int {
            try trial.devices.post("/logs/hello", Self.body, ["origin": origin]).status
        }
        #expect(try status("https://app.example.com") == 200)
        #expect(try status("https://web.example.com") == 403)
        var new = trial.gateway.configuration.withLock { $0 }
        new.devices.cors.origins = OriginList(["https://web.example.com"])
        trial.gateway.reload(new)
        #expect(try status("https://app.example.com") == 403)
        #expect(try status("https://web.example.com") == 200)
    }

    @Test("A reload replaces the keys; metrics and pages show their names, never a key")
    func keys() throws {
        let (phoneKey, webKey) = ("phone-0123456789abcdef+/=", "web-0123456789abcdef0123")
        let trial = try SandboxedGateway {
            $0.devices.keys = [DeviceKey(name: "phone", secret: Secret(phoneKey))]
        }
        let phone = ["x-sluice-key": phoneKey] as KeyValuePairs
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 401)
        #expect(try trial.devices.post("/logs/hello", Self.body, phone).status == 200)
        let metrics = trial.gateway.report.metrics
        #expect(metrics.contains("sluice_device_key_requests_total{key=\"phone\"} 1\n"))
        var new = trial.gateway.configuration.withLock { $0 }
        new.devices.keys = [DeviceKey(name: "web", secret: Secret(webKey))]
        trial.gateway.reload(new)
        #expect(try trial.devices.post("/logs/hello", Self.body, phone).status == 401)
        let web = ["x-sluice-key": webKey] as KeyValuePairs
        #expect(try trial.devices.post("/logs/hello", Self.body, web).status == 200)
        for path in ["/metrics", "/status", "/v1/status", "/v1/destinations"] {
            let text = try trial.admin(path).text
            #expect(!text.contains(phoneKey) && !text.contains(webKey), "\(path)")
        }
        #expect(!String(reflecting: new.devices).contains(webKey))
    }

    @Test("A reload changes the limit of an address, and metrics show it")
    func addressLimits() throws {
        let trial = try SandboxedGateway { $0.devices.perAddress.rate = Allowance(1, per: .hour) }
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 200)
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 429)
        let metrics = trial.gateway.report.metrics
        #expect(metrics.contains("sluice_device_address_refused_total{reason=\"rate\"} 1\n"))
        #expect(metrics.contains("sluice_device_addresses 1\n"))
        #expect(metrics.contains("sluice_device_addresses_max 65536\n"))
        var new = trial.gateway.configuration.withLock { $0 }
        new.devices.perAddress.rate = nil
        trial.gateway.reload(new)
        #expect(try trial.devices.post("/logs/hello", Self.body).status == 200)
    }
}

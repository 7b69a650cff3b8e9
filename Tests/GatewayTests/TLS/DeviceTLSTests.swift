import Configuration
import Crypto
import HTTP
import Net
import Queue
import SLS
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// The devices' second listener, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct DeviceTLSTests {
    private static let made = TestCertificates.shared
    private static let log = Array(#"{"a":1}"#.utf8)

    @Test("The TLS listener accepts logs, and both listeners recognise a repeated request")
    func logs() throws {
        let trial = try SandboxedGateway { $0.tls = .tried() }
        let secure = try trial.secure()
        let key: KeyValuePairs = ["idempotency-key": "batch-1"]
        let first = try secure.post("/logs/both", Self.log, key)
        #expect(first.status == 200)
        #expect(try secure.post("/logs/both", Self.log).status == 200)
        let again = try trial.devices.post("/logs/both", Self.log, key)
        #expect(again["x-log-requestid"] == first["x-log-requestid"])
        #expect(trial.delivered(2))
        #expect(trial.gateway.report.queue.ledger.accepted == 2)
    }

    @Test("The TLS listener refuses plain HTTP, and the plain listener refuses TLS")
    func languages() throws {
        let trial = try SandboxedGateway { $0.tls = .tried() }
        var plain = try trial.secure()
        plain.tls = nil
        let answer = try plain.get("/healthz")
        #expect(answer.status == 400)
        #expect(answer.text.contains("this port speaks TLS"), "\(answer.text)")
        var secure = trial.devices
        secure.tls = ClientTLS.Options()
        #expect(throws: (any Error).self) { try secure.get("/healthz") }
        #expect(try trial.devices.get("/healthz").status == 200)
    }

    @Test("With required client certificates only devices with a certificate are accepted")
    func mutual() throws {
        let authority = Self.made.certificate("authority")
        let trial = try SandboxedGateway { $0.tls = .tried(.required(authorities: authority)) }
        #expect(throws: (any Error).self) {
            try trial.secure().post("/logs/mutual", Self.log)
        }
        #expect(throws: (any Error).self) {
            try trial.secure("wrong-client").post("/logs/mutual", Self.log)
        }
        #expect(try trial.secure("client").post("/logs/mutual", Self.log).status == 200)
        #expect(try trial.devices.post("/logs/mutual", Self.log).status == 200)
    }

    @Test("A listed certificate name needs no key; another certificate does")
    func names() throws {
        let authority = Self.made.certificate("authority")
        var fleet = DeviceKey(name: "fleet", secret: nil)
        fleet.certificates = [try #require(CertificatePattern("dns:phone-*.example.com"))]
        let keys = [fleet, DeviceKey(name: "key", secret: Secret("key-0123456789abcdef"))]
        let trial = try SandboxedGateway {
            $0.tls = .tried(.optional(authorities: authority))
            $0.devices.keys = keys
        }
        #expect(try trial.secure("client").post("/logs/names", Self.log).status == 200)
        #expect(try trial.secure("exact").post("/logs/names", Self.log).status == 401)
        #expect(try trial.secure().post("/logs/names", Self.log).status == 401)
        #expect(try trial.devices.post("/logs/names", Self.log).status == 401)
        let page = try trial.admin("/metrics").text
        #expect(page.contains("sluice_device_key_requests_total{key=\"fleet\"} 1\n"))
        #expect(page.contains("sluice_device_strangers_total{reason=\"missing_key\"} 3\n"))
        trial.gateway.reload { $0.devices.keys = [keys[1]] }
        #expect(try trial.secure("client").post("/logs/names", Self.log).status == 401)
    }

    @Test("Metrics and status show the TLS listener under its own name")
    func told() throws {
        let trial = try SandboxedGateway { $0.tls = .tried() }
        #expect(try trial.secure().post("/logs/told", Self.log).status == 200)
        let page = try trial.admin("/metrics").text
        for line in [
            #"sluice_http_tls_handshakes_total{listener="devices-tls"} 1"#,
            #"sluice_http_tls_handshakes_total{listener="devices"} 0"#,
            #"sluice_http_responses_total{listener="devices-tls",class="2xx"} 1"#,
            #"sluice_tls_renewal_failing{listener="devices-tls"} 0"#,
        ] {
            #expect(page.contains(line + "\n"), "\(line)")
        }
        let status = try trial.admin("/admin/status").text
        #expect(status.contains(#""name":"devices-tls""#), "\(status)")
        #expect(status.contains(#""names":["localhost","127.0.0.1"]"#), "\(status)")
    }

    @Test("Both listeners share the connection limit, and each counts its own connections")
    func together() throws {
        let trial = try SandboxedGateway {
            $0.tls = .tried()
            $0.limits.http.connections = 2
        }
        let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
        let plain = try trial.devices.opened(sending: get)
        let secure = try trial.secure().opened(sending: get)
        #expect(plain.receives("ok\n"))
        #expect(secure.receives("ok\n"))
        #expect(try trial.devices.get("/healthz").status == 503)
        #expect(throws: (any Error).self) { try trial.secure().get("/healthz") }
        let open = trial.gateway.report.listeners.map(\.counters[.openConnections])
        #expect(open.prefix(2) == [1, 1])
        plain.close()
        #expect(eventually { (try? trial.secure().get("/healthz").status) == 200 })
        withExtendedLifetime(secure) {}
    }

    @Test("Logs of a TLS request that ends during a stop are delivered")
    func stop() throws {
        let trial = try SandboxedGateway {
            $0.tls = .tried()
            $0.destinations[0].transfer.packet.age = .seconds(3600)
        }
        let slow = try trial.devices.opened(sending: "POST /logs/last HTTP/1.1\r\n")
        let late = try trial.secure().opened(
            sending: "POST /logs/last HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n\r\n{"
        )
        #expect(
            eventually {
                trial.gateway.servers.secureDevices?.counters[.heldBodies] ?? 0 > 0
            }
        )
        let gateway = trial.gateway
        let stop = try Worker("stop") { gateway.stop(within: .seconds(4)) }
        // A client that never ends its request keeps the other listener from nothing.
        #expect(eventually { (try? trial.secure().get("/healthz")) == nil })
        late.send(#""a":1}"#)
        #expect(late.rest().hasPrefix("HTTP/1.1 200 "))
        stop.join()
        #expect(gateway.report.queue.ledger.delivered == 1)
        withExtendedLifetime(slow) {}
    }

    @Test("A reload applies new certificate files and rules; the watch notices replaced files")
    func renewal() throws {
        let trial = try SecureGateway("exact") { [listens = ListenAddress.anyPort] in
            guard let files = $0.admin.tls else { return }
            $0.admin.tls = nil
            $0.tls = DeviceTLS(listen: listens, settings: files)
        }
        #expect(trial.watch.listener == "devices-tls")
        trial.install("wildcard")
        trial.watch.look()
        let renewed = trial.saying("certificates reloaded")
        #expect(renewed.count == 1)
        #expect(renewed.first?.contains(#""listener":"devices-tls""#) == true, "\(renewed)")
        trial.gateway.reload { $0.tls?.settings.certificates = [Self.made.files("server")] }
        #expect(trial.saying(#""changed":"tls""#).count == 1)
        var device = TestClient(address: try #require(trial.gateway.secureDeviceAddress))
        device.tls = ClientTLS.Options()
        let shown = try device.opened()
        #expect(try #require(shown.tls).shows("localhost"))
        trial.gateway.reload { $0.tls = nil }
        #expect(trial.saying(#""keys":"tls""#).count == 1)
        #expect(try device.get("/healthz").status == 200)
    }
}

extension ListenAddress {
    fileprivate static let anyPort = ListenAddress(host: "127.0.0.1", port: 0)
}

extension DeviceTLS {
    static func tried(_ clients: TLSSettings.ClientCertificates = .none) -> DeviceTLS {
        DeviceTLS(
            listen: .anyPort,
            settings: TLSSettings(
                certificates: [TestCertificates.shared.files("server")],
                clientCertificates: clients
            )
        )
    }
}

extension SandboxedGateway {
    func secure(_ certificate: String? = nil) throws -> TestClient {
        var client = TestClient(address: try #require(gateway.secureDeviceAddress))
        client.tls = ClientTLS.Options(certificate: certificate)
        return client
    }
}

/// The admin listener with TLS, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct AdminTLSTests {
    private static let authority = TestCertificates.shared.certificate("authority")

    @Test("The admin listener answers over TLS, and only with the token")
    func answers() throws {
        let trial = try SecureGateway()
        let answer = try trial.get("/admin/status")
        #expect(answer.status == 200)
        #expect(answer["strict-transport-security"] == "max-age=31536000")
        #expect(try trial.get("/admin/status", token: "nonsense").status == 401)
        #expect(try trial.admin().get("/healthz").status == 200)
        // A page that came without TLS may be anybody's.
        for (origin, status) in [("http://127.0.0.1", 403), ("https://127.0.0.1", 401)] {
            let fields: KeyValuePairs = ["host": "127.0.0.1", "origin": origin]
            let login = try trial.admin().post("/admin/session", [UInt8](), fields)
            #expect(login.status == status, "\(origin)")
        }
        var plain = trial.admin()
        plain.tls = nil
        #expect(try plain.get("/healthz").status == 400)
    }

    @Test(
        "A client without a certificate, or with one of a stranger, is not let in where one is required"
    )
    func mutual() throws {
        let trial = try SecureGateway(clients: .required(authorities: Self.authority))
        #expect(throws: (any Error).self) { try trial.get("/healthz") }
        #expect(throws: (any Error).self) { try trial.get("/healthz", "wrong-client") }
        #expect(try trial.get("/admin/status", "client").status == 200)
        let stranger = try trial.get("/admin/status", "client", token: "nonsense")
        #expect(stranger.status == 401, "a certificate is no token")
        #expect(trial.gateway.report.listeners.last?.counters[.failedHandshakes] == 2)
    }

    @Test("The sandbox greeting shows how to use the API over TLS")
    func welcome() throws {
        let trial = try SecureGateway()
        let (file, address) = (
            "\(trial.directory.path)/current/tls.crt", trial.gateway.adminAddress
        )
        let told = trial.welcome
        #expect(told.contains(" --cacert \(file) https://\(address)/admin/status\n"), "\(told)")
    }

    @Test("The audit log shows the certificate's and the token's name")
    func audited() throws {
        let trial = try SecureGateway(clients: .optional(authorities: Self.authority))
        for (certificate, action) in [("client", "pause"), (nil, "resume")] {
            let answer = try trial.admin(certificate).post(
                "/admin/destinations/default/\(action)",
                [UInt8](),
                ["authorization": "Bearer \(SandboxedGateway.token)"]
            )
            #expect(answer.status == 200, "\(answer.text)")
        }
        let audit = try trial.get("/admin/audit").text
        let actor = #""actor":"admin (certificate dns:phone-7.example.com)""#
        #expect(audit.contains(actor), "\(audit)")
        #expect(audit.contains(#""actor":"admin","#), "\(audit)")
        #expect(!trial.saying(actor).isEmpty)
    }

    @Test("Metrics and status show handshakes and the certificate's expiry")
    func metrics() throws {
        let trial = try SecureGateway()
        for _ in 0..<3 { #expect(try trial.get("/healthz").status == 200) }
        let page = try trial.get("/metrics").text
        let certificate = try #require(trial.watch.status.certificates.first)
        let labels = #"{listener="admin",file="\#(certificate.file)"}"#
        for line in [
            #"sluice_http_tls_handshakes_total{listener="admin"} 4"#,
            #"sluice_http_tls_handshakes_total{listener="devices"} 0"#,
            #"sluice_http_tls_failures_total{listener="admin"} 0"#,
            "sluice_tls_certificate_expiry_timestamp_seconds\(labels) \(certificate.expires.seconds)",
            "sluice_tls_certificate_expiring\(labels) 0",
            #"sluice_tls_renewal_failing{listener="admin"} 0"#,
        ] {
            #expect(page.contains(line + "\n"), "\(line)")
        }
        let status = try trial.get("/admin/status").text
        #expect(status.contains(#""names":["localhost","127.0.0.1"]"#), "\(status)")
    }

    @Test("An admin listener beyond loopback logs a warning without TLS, none with TLS")
    func exposed() throws {
        let warning = "tokens travel there in the open"
        let secure = try SecureGateway { $0.admin.listen = ListenAddress(host: "0.0.0.0", port: 0) }
        #expect(secure.saying(warning).isEmpty)
        let open = try SecureGateway {
            $0.admin.listen = ListenAddress(host: "0.0.0.0", port: 0)
            $0.admin.tls = nil
        }
        #expect(open.saying(warning).count == 1)
        let local = try SecureGateway { $0.admin.tls = nil }
        #expect(local.saying(warning).isEmpty)
    }

    @Test("Unusable certificate files prevent the start")
    func unusable() throws {
        let error = #expect(throws: TLSError.self) {
            _ = try SecureGateway { $0.admin.tls?.certificates[0].keyFile = "/nowhere" }
        }
        #expect(error?.description.contains("/nowhere cannot be read") == true)
    }
}

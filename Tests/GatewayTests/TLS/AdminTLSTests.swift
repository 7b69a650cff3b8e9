import Configuration
import HTTP
import Net
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// The admin listener with TLS, over real sockets.
@Suite(.timeLimit(.minutes(1))) struct AdminTLSTests {
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
        let error = #expect(throws: StartProblem.self) {
            _ = try SecureGateway { $0.admin.tls?.certificates[0].keyFile = "/nowhere" }
        }
        #expect(error?.description.contains("/nowhere cannot be read") == true)
    }
}

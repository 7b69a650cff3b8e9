import Configuration
import Glibc
import Net
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Clients whose certificates were revoked or denied, over real handshakes.
@Suite(.timeLimit(.minutes(1)), .serialized) struct RevocationTests {
    private static let made = TestCertificates.shared
    private static let log = Array(#"{"a":1}"#.utf8)
    private let directory = TemporaryDirectory()

    private var list: String { directory.path + "/clients.crl" }

    /// Has the authority issue a list over the one that is there.
    private func issue(
        revoking clients: [String],
        by authority: String = "authority",
        ending: [String] = ["-crldays", "1"]
    ) {
        let base = directory.path
        let index = clients.enumerated().map { number, client in
            "R\t300101000000Z\t260101000000Z\t\(serial(of: client))\tunknown\t/CN=\(number)\n"
        }
        _ = directory.file("index", index.joined())
        _ = directory.file("index.attr", "unique_subject = no\n")
        let settings = directory.file(
            "ca.cnf",
            "[ca]\ndefault_ca = a\n[a]\ndatabase = \(base)/index\ndefault_md = sha256\n"
        )
        Self.made.openssl(
            [
                "ca", "-config", settings, "-gencrl", "-cert", Self.made.certificate(authority),
                "-keyfile", Self.made.key(authority), "-out", base + "/next.crl",
            ] + ending
        )
        rename(base + "/next.crl", list)
    }

    private func serial(of client: String) -> String {
        let path = directory.path + "/serial"
        Self.made.openssl([
            "x509", "-in", Self.made.certificate(client), "-noout", "-serial", "-out", path,
        ])
        let text = (try? fileContent(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return String(text.drop { $0 != "=" }.dropFirst().filter { $0 != "\n" })
    }

    private func trial(
        _ change: @escaping @Sendable (inout TLSSettings) -> Void
    ) throws -> SandboxedGateway {
        let authority = Self.made.certificate("authority")
        return try SandboxedGateway {
            var tls = DeviceTLS.tried(.required(authorities: authority))
            change(&tls.settings)
            $0.tls = tls
        }
    }

    private func isLetIn(_ client: String, _ trial: SandboxedGateway) throws -> Bool {
        do {
            return try trial.secure(client).post("/logs/app", Self.log).status == 200
        } catch {
            return false
        }
    }

    @Test("A revoked certificate is refused, and open connections are checked again")
    func revoked() throws {
        issue(revoking: ["plain-client"])
        let list = list
        let trial = try trial { $0.revocationFiles = [list] }
        #expect(try isLetIn("client", trial))
        #expect(try !isLetIn("plain-client", trial))
        let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
        let open = try trial.secure("client").opened(sending: get)
        #expect(open.receives("ok\n"))
        let watch = try #require(trial.gateway.certificates.watches.first)
        // Renewed and the same: nobody has to come again.
        issue(revoking: ["plain-client"], ending: ["-crldays", "2"])
        watch.look()
        open.send(get.replacing("/healthz", with: "/nope"))
        #expect(open.receives(" 404 "))
        issue(revoking: ["plain-client", "client"])
        watch.look()
        open.send(get)
        #expect(open.receives("reconnect"))
        #expect(try !isLetIn("client", trial))
        let page = try trial.admin("/metrics").text
        #expect(page.contains("sluice_tls_crl_expiry_timestamp_seconds{listener=\"devices-tls\","))
        let status = try trial.admin("/admin/status").text
        #expect(status.contains(#""revoked":2,"#), "\(status)")
    }

    @Test("An expired or foreign revocation list refuses all clients and is reported")
    func closed() throws {
        let past = ["-crl_lastupdate", "20250101000000Z", "-crl_nextupdate", "20250102000000Z"]
        issue(revoking: [], ending: past)
        let list = list
        let trial = try trial { $0.revocationFiles = [list] }
        #expect(try !isLetIn("client", trial))
        let watch = try #require(trial.gateway.certificates.watches.first)
        #expect(watch.status.revocationLists.map { $0.isExpired(at: .now) } == [true])
        #expect(watch.context.warnings(at: .now).contains { $0.contains("expired at 2025-01-02") })
        issue(revoking: [], by: "stranger")
        watch.look()
        #expect(try !isLetIn("client", trial))
        issue(revoking: [])
        watch.look()
        #expect(try isLetIn("client", trial))
        // A broken one changes nothing.
        _ = directory.file("clients.crl", "nothing\n")
        watch.look()
        #expect(watch.status.problem?.contains("holds no revocation list in PEM form") == true)
        #expect(try isLetIn("client", trial))
    }

    @Test("The expiry of each revocation list is reported once")
    func expiries() throws {
        issue(revoking: [])
        let first = directory.path + "/first.crl"
        rename(list, first)
        issue(revoking: [], ending: ["-crldays", "2"])
        let settings = TLSSettings(
            certificates: [Self.made.files("server")],
            clientCertificates: .required(authorities: Self.made.certificate("authority"))
        )
        var both = settings
        both.revocationFiles = [first, list]
        let said = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { line in
            said.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let watch = try CertificateWatch(both, of: "devices-tls", journal: journal)
        func told(_ file: String) -> Int {
            said.withLock { $0 }.count {
                $0.contains("a revocation list has expired") && $0.contains(file)
            }
        }
        func look(days: Int64) { watch.tellExpiry(at: WallTime.now + .seconds(days * 86_400)) }
        look(days: 0)
        #expect(told(first) == 0 && told(list) == 0)
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(86_400 + 60)) }
        #expect(told(first) == 1 && told(list) == 0)
        for _ in 0..<2 { look(days: 3) }
        #expect(told(first) == 1 && told(list) == 1)
    }

    @Test("The expiry of each revocation list in a file is reported once, with its issuer")
    func expiriesOfOneFile() throws {
        issue(revoking: [])
        let ofAuthority = try fileContent(list)
        issue(revoking: [], by: "stranger", ending: ["-crldays", "2"])
        let ofStranger = try fileContent(list)
        // A second list of one issuer is no news.
        let both = directory.file("both.crl", ofAuthority + ofStranger + ofAuthority)
        var settings = TLSSettings(
            certificates: [Self.made.files("server")],
            clientCertificates: .required(authorities: Self.made.certificate("authority"))
        )
        settings.revocationFiles = [both]
        let said = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { line in
            said.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let watch = try CertificateWatch(settings, of: "devices-tls", journal: journal)
        func told(_ issuer: String) -> Int {
            said.withLock { $0 }.count {
                $0.contains("a revocation list has expired") && $0.contains(#""CN=\#(issuer)""#)
            }
        }
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(86_400 + 60)) }
        #expect(told("authority") == 1 && told("stranger") == 0)
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(3 * 86_400)) }
        #expect(told("authority") == 1 && told("stranger") == 1)
        let warnings = watch.context.warnings(at: WallTime.now + .seconds(3 * 86_400))
        #expect(warnings.contains { $0.contains("of CN=stranger in \(both) expired") })
    }

    @Test("A denied name is refused after the reload, although its certificate is valid")
    func denied() throws {
        let trial = try trial { _ in }
        #expect(try isLetIn("client", trial))
        let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
        let open = try trial.secure("client").opened(sending: get)
        #expect(open.receives("ok\n"))
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.tls?.settings.denied = [try #require(CertificatePattern("dns:phone-*.example.com"))]
        trial.gateway.reload(changed)
        open.send(get)
        #expect(open.receives("reconnect"))
        #expect(try !isLetIn("client", trial))
        #expect(try isLetIn("plain-client", trial))
        changed.tls?.settings.denied = [try #require(CertificatePattern("cn:phone 8"))]
        trial.gateway.reload(changed)
        #expect(try isLetIn("client", trial))
        #expect(try !isLetIn("plain-client", trial))
    }

    @Test("A resumed session is checked for revocation")
    func resumed() throws {
        let trial = try trial { _ in }
        let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
        let first = try trial.secure("client").opened(sending: get)
        #expect(first.receives("ok\n"))
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.tls?.settings.denied = [try #require(CertificatePattern("dns:other"))]
        trial.gateway.reload(changed)
        var again = try trial.secure("client")
        again.tls?.session = first.tls?.session
        let answer = try? again.get("/healthz")
        #expect(answer == nil)
    }

    @Test(
        "Mistakes are told with key and remedy",
        arguments: [
            ("client_crl: /none.crl", "tls.client_crl: /none.crl cannot be read"),
            ("client_crl: CERTIFICATE", "holds no revocation list in PEM form"),
            ("deny: [\"phone\"]", "tls.deny: \"phone\" is not a kind"),
            ("deny: [\"dns:a*b*\"]", "tls.deny: \"dns:a*b*\" is not a kind"),
            ("client_ca: none", "tls.client_ca: none cannot be read"),
        ]
    )
    func mistakes(text: String, problem: String) {
        let made = Self.made
        let text = text.replacing("CERTIFICATE", with: made.certificate("server"))
        let authority =
            text.hasPrefix("client_ca") ? "" : ", client_ca: \(made.certificate("authority"))"
        let error = #expect(throws: ConfigurationProblems.self) {
            _ = try read(
                minimal
                    + "tls: { certificate: \(made.certificate("server")), key: \(made.key("server")), \(text)\(authority) }\n",
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            )
        }
        #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
    }

    @Test("A revocation or deny list without client_ca is a configuration error")
    func noAuthority() {
        let made = Self.made
        let error = #expect(throws: ConfigurationProblems.self) {
            _ = try read(
                minimal
                    + "tls: { certificate: \(made.certificate("server")), key: \(made.key("server")), deny: \"dns:a\", client_crl: /none.crl }\n",
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            )
        }
        let text = error?.description ?? ""
        #expect(text.contains("tls.deny: wants client_ca"))
        #expect(text.contains("tls.client_crl: wants client_ca"))
        #expect(text.contains("tls.client_crl: /none.crl cannot be read"))
    }
}

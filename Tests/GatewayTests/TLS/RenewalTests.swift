import Configuration
import Glibc
import Net
import Rendering
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Certificates that are replaced under a gateway that runs.
@Suite(.timeLimit(.minutes(10))) struct RenewalTests {
    private static let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
    private static let made = TestCertificates.shared

    @Test("Files swapped by a symbolic link are noticed, and open connections continue")
    func renewal() throws {
        let trial = try SecureGateway("exact")
        let old = try trial.admin().opened(sending: Self.get)
        #expect(old.receives("ok\n"))
        trial.watch.look()
        #expect(trial.saying("certificates reloaded").isEmpty)
        trial.install("wildcard")
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        trial.watch.look()
        #expect(trial.watch.status.certificates.map(\.names) == [["*.example.com"]])
        #expect(trial.saying("certificates reloaded").count == 1)
        old.send(Self.get.replacing("/healthz", with: "/readyz"))
        #expect(old.receives(#""ready":true"#))
        let new = try trial.admin().opened()
        #expect(try #require(new.tls).shows("web.example.com"))
        #expect(try !#require(old.tls).shows("web.example.com"))
    }

    @Test("Unusable new files keep the served certificates and are reported until fixed")
    func failure() throws {
        let trial = try SecureGateway("exact")
        trial.install("wildcard", key: "exact")
        trial.watch.look()
        // A pair may be caught in the middle.
        #expect(trial.saying("cannot reload certificates").isEmpty)
        #expect(trial.watch.status.problem != nil)
        for _ in 0..<3 { trial.watch.look() }
        let told = trial.saying("cannot reload certificates")
        #expect(told.count == 1)
        #expect(told.first?.contains("does not belong to the first certificate") == true, "\(told)")
        let page = try trial.get("/metrics").text
        #expect(page.contains(#"sluice_tls_renewal_failing{listener="admin"} 1"#))
        let answer = try trial.get("/admin/status").body
        let text = View.status.text(of: answer)
        #expect(text.contains("certificate  admin: cannot be renewed: "), "\(text)")
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        trial.install("wildcard")
        trial.watch.look()
        #expect(trial.watch.status.problem == nil)
        #expect(trial.watch.status.certificates.map(\.names) == [["*.example.com"]])
    }

    @Test("Session ticket keys rotate daily without a changed file")
    func tickets() throws {
        let trial = try SecureGateway()
        func visit(_ session: TLSSession?) throws -> ClientTLS {
            var client = trial.admin()
            client.tls?.session = session
            let connection = try client.opened(sending: Self.get)
            #expect(connection.receives("ok\n"))
            return try #require(connection.tls)
        }
        let first = try visit(nil)
        trial.watch.look()
        #expect(try visit(first.session).isResumed)
        trial.watch.look(.now + .seconds(86_401))
        #expect(try !visit(first.session).isResumed)
        #expect(trial.saying("certificates reloaded").isEmpty)
    }

    @Test("A reload applies new certificate files; unusable files reject the whole reload")
    func reload() throws {
        let trial = try SecureGateway("exact")
        let before = trial.gateway.configuration.withLock { $0 }
        trial.gateway.reload {
            $0.admin.tls?.certificates = [
                .init(chainFile: Self.made.certificate("server"), keyFile: Self.made.key("exact"))
            ]
            $0.drainTimeout = .seconds(77)
        }
        #expect(trial.saying("the new configuration is refused").count == 1)
        #expect(trial.gateway.configuration.withLock { $0 } == before)
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        trial.gateway.reload {
            $0.admin.tls?.certificates = [Self.made.files("server")]
            $0.admin.tls?.clientCertificates = .required(
                authorities: Self.made.certificate("authority")
            )
        }
        #expect(trial.saying(#""changed":"admin.tls""#).count == 1)
        #expect(throws: (any Error).self) { try trial.get("/healthz") }
        #expect(try trial.get("/healthz", "client").status == 200)
        // From here on these are the files that are looked at.
        trial.install("wildcard")
        trial.watch.look()
        #expect(trial.watch.status.certificates.map(\.names) == [["localhost", "127.0.0.1"]])
    }

    @Test("Adding or removing TLS waits for a restart, and the listener is unchanged")
    func onAndOff() throws {
        let trial = try SecureGateway()
        trial.gateway.reload { $0.admin.tls = nil }
        #expect(trial.saying(#""keys":"admin.tls""#).count == 1)
        #expect(try trial.get("/healthz").status == 200)
    }
}

/// Clients whose certificates were revoked or denied, over real handshakes.
@Suite(.timeLimit(.minutes(10)), .serialized) struct RevocationTests {
    private static let made = TestCertificates.shared
    private static let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
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
        let open = try trial.secure("client").opened(sending: Self.get)
        #expect(open.receives("ok\n"))
        let watch = try #require(trial.gateway.certificates.watches.first)
        // Renewed and the same: nobody has to come again.
        issue(revoking: ["plain-client"], ending: ["-crldays", "2"])
        watch.look()
        open.send(Self.get.replacing("/healthz", with: "/nope"))
        #expect(open.receives(" 404 "))
        issue(revoking: ["plain-client", "client"])
        watch.look()
        open.send(Self.get)
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

    /// A watch of lists, and how often the journal tells that one of a file or an issuer expired.
    private func watch(
        _ lists: [String]
    ) throws -> (CertificateWatch, told: (_ which: String) -> Int) {
        var settings = TLSSettings(
            certificates: [Self.made.files("server")],
            clientCertificates: .required(authorities: Self.made.certificate("authority"))
        )
        settings.revocationFiles = lists
        let recorder = JournalRecorder(level: .info)
        let watch = try CertificateWatch(settings, of: "devices-tls", journal: recorder.journal)
        return (
            watch,
            { which in
                recorder.lines.now.count {
                    $0.contains("a revocation list has expired") && $0.contains(which)
                }
            }
        )
    }

    @Test("The expiry of each revocation list is reported once")
    func expiries() throws {
        issue(revoking: [])
        let first = directory.path + "/first.crl"
        rename(list, first)
        issue(revoking: [], ending: ["-crldays", "2"])
        let (watch, told) = try watch([first, list])
        watch.tellExpiry(at: WallTime.now)
        #expect(told(first) == 0 && told(list) == 0)
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(86_400 + 60)) }
        #expect(told(first) == 1 && told(list) == 0)
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(3 * 86_400)) }
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
        let (watch, told) = try watch([both])
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(86_400 + 60)) }
        #expect(told(#""CN=authority""#) == 1 && told(#""CN=stranger""#) == 0)
        for _ in 0..<2 { watch.tellExpiry(at: WallTime.now + .seconds(3 * 86_400)) }
        #expect(told(#""CN=authority""#) == 1 && told(#""CN=stranger""#) == 1)
        let warnings = watch.context.warnings(at: WallTime.now + .seconds(3 * 86_400))
        #expect(warnings.contains { $0.contains("of CN=stranger in \(both) expired") })
    }

    private func deny(_ pattern: String, _ trial: SandboxedGateway) throws {
        let pattern = try #require(CertificatePattern(pattern))
        trial.gateway.reload { $0.tls?.settings.denied = [pattern] }
    }

    @Test("A denied name is refused after the reload, although its certificate is valid")
    func denied() throws {
        let trial = try trial { _ in }
        #expect(try isLetIn("client", trial))
        let open = try trial.secure("client").opened(sending: Self.get)
        #expect(open.receives("ok\n"))
        try deny("dns:phone-*.example.com", trial)
        open.send(Self.get)
        #expect(open.receives("reconnect"))
        #expect(try !isLetIn("client", trial))
        #expect(try isLetIn("plain-client", trial))
        try deny("cn:phone 8", trial)
        #expect(try isLetIn("client", trial))
        #expect(try !isLetIn("plain-client", trial))
    }

    @Test("A resumed session is checked for revocation")
    func resumed() throws {
        let trial = try trial { _ in }
        let first = try trial.secure("client").opened(sending: Self.get)
        #expect(first.receives("ok\n"))
        try deny("dns:other", trial)
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
        let text = text.replacing("CERTIFICATE", with: Self.made.certificate("server"))
        let authority = ", client_ca: \(Self.made.certificate("authority"))"
        let told = mistakes(text.hasPrefix("client_ca") ? text : text + authority)
        #expect(told.contains(problem), "\(told)")
    }

    /// What is wrong with a pair of files and this.
    private func mistakes(_ text: String) -> String {
        let files =
            "certificate: \(Self.made.certificate("server")), key: \(Self.made.key("server"))"
        return problems(minimal + "tls: { \(files), \(text) }\n").joined(separator: "\n")
    }

    @Test("A revocation or deny list without client_ca is a configuration error")
    func noAuthority() {
        let text = mistakes("deny: \"dns:a\", client_crl: /none.crl")
        #expect(text.contains("tls.deny: wants client_ca"))
        #expect(text.contains("tls.client_crl: wants client_ca"))
        #expect(text.contains("tls.client_crl: /none.crl cannot be read"))
    }
}

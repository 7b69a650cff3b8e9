import Configuration
import Net
import TestConfiguration
import TestSupport
import Testing

/// The group `tls` of the configuration file, read.
@Suite struct TLSSettingsTests {
    private static let made = TestCertificates.shared
    /// C:NAME and K:NAME stand for the files of a certificate and its key.
    private func text(_ tls: String) -> String {
        var text = minimal + "admin:\n  tls: {\(tls)}\n"
        for name in ["server", "exact", "client", "authority"] {
            text = text.replacing("C:\(name)", with: Self.made.certificate(name))
                .replacing("K:\(name)", with: Self.made.key(name))
        }
        return text
    }

    private func problems(_ tls: String) -> String {
        TestConfiguration.problems(text(tls)).joined(separator: "\n")
            .replacing("sluice.yaml:3: admin.", with: "")
            .replacing(Self.made.directory + "/", with: "")
    }

    @Test("Every setting of it is understood")
    func settings() throws {
        func tls(_ tls: String) throws -> TLSSettings? { try read(text(tls)).admin.tls }
        let server = Self.made.files("server")
        let authority = Self.made.certificate("authority")
        let pair = "certificate: C:server, key: K:server"
        #expect(try read(minimal).admin.tls == nil)
        #expect(try tls(pair) == TLSSettings(certificates: [server]))
        #expect(
            try tls("\(pair), client_ca: C:authority")?.clientCertificates
                == .required(authorities: authority)
        )
        #expect(
            try tls("\(pair), client_ca: C:authority, client_certificates: optional")?
                .clientCertificates == .optional(authorities: authority)
        )
        #expect(
            try tls("\(pair), client_ca: C:authority, client_certificates: none")?
                .clientCertificates == TLSSettings.ClientCertificates.none
        )
        #expect(try tls("\(pair), minimum_version: 1.3")?.minimumVersion == .tls13)
        #expect(
            try tls("certificates: [{\(pair)}, {certificate: C:exact, key: K:exact}]")?.certificates
                == [server, Self.made.files("exact")]
        )
    }

    @Test(
        "A mistake is named with its key and remedy",
        arguments: [
            ("", "tls.certificate: is missing; name the file with the certificate and those"),
            ("certificate: C:server", "tls.key: is missing; name the file with the certificate's"),
            ("key: K:server", "tls.certificate: is missing; name the file"),
            ("certificate: C:server, key: /nowhere", "tls.key: /nowhere cannot be read: No such"),
            ("certificate: C:server, key: K:exact", "tls.key: the private key in exact.key does"),
            ("certificate: K:server, key: K:server", "tls.certificate: server.key holds no"),
            ("PAIR, client_ca: K:server", "tls.client_ca: server.key holds no certificate in PEM"),
            ("PAIR, client_certificates: required", "tls.client_certificates: wants client_ca, a"),
            ("PAIR, client_certificates: require", "tls.client_certificates: \"require\" is not"),
            ("PAIR, minimum_version: 1.1", "tls.minimum_version: \"1.1\" is not one of 1.2, 1.3"),
            ("PAIR, ciphers: all", "tls.ciphers: unknown key;"),
            (
                "certificate: C:server, certificates: [{certificate: C:exact, key: K:exact}]",
                "tls.certificates: there is certificate too; put all of them into the list"
            ),
            ("certificates: []", "tls.certificates: is an empty list; give at least 1"),
            ("certificates: 5", "tls.certificates: wants a list of groups of settings, got a"),
            ("certificates: [{certificate: C:exact}]", "tls.certificates[0].key: is missing; name"),
            (
                "certificates: [{certificate: C:exact, key: K:exact}, {certificate: C:exact, key: K:exact}]",
                "tls.certificates[1].certificate: exact.pem is in the list already"
            ),
            (
                "certificates: [{certificate: C:exact, key: K:exact, ca: x}]",
                "tls.certificates[0].ca: unknown key"
            ),
        ]
    )
    func mistakes(tls: String, start: String) {
        let said = problems(tls.replacing("PAIR", with: "certificate: C:server, key: K:server"))
        #expect(said.hasPrefix(start), "\(said)")
    }

    @Test("Everything wrong with the files is said at once")
    func everything() {
        let said = problems(
            "certificates: [{certificate: /a, key: K:exact}, {certificate: C:server, key: /b}], "
                + "client_ca: /c"
        )
        #expect(said.split(separator: "\n").count == 3, "\(said)")
        for file in ["/a", "/b", "/c"] { #expect(said.contains("\(file) cannot be read")) }
    }

    @Test("A file that is in the middle of its renewal hinders no other change")
    func elsewhere() throws {
        let directory = TemporaryDirectory()
        let tls = text("certificate: C:server, key: K:exact")
        var inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", tls),
            environment: testKeys
        )
        #expect(throws: ConfigurationProblems.self) { try GatewayConfiguration.read(inputs) }
        inputs.readsCertificates = false
        #expect(try GatewayConfiguration.read(inputs).admin.tls != nil)
        #expect(try AdminAccess.find(inputs).tls != nil, "an operator may not read the key")
    }

    @Test("The summary of a check tells of TLS, and warns where tokens would travel in the open")
    func check() throws {
        let secure = try read(
            text("certificate: C:server, key: K:server, client_ca: C:authority")
        )
        let summary = ConfigurationSummary.text(secure)
        #expect(summary.contains("token of its own making, TLS and certificates of clients\n"))
        #expect(!summary.contains("warning      the admin"))
        let token = String(repeating: "t", count: 32)
        let open = try read(minimal + "admin: {listen: \":8081\", token: \(token)}\n")
        #expect(
            ConfigurationSummary.text(open).contains(
                "  warning      the admin listener [::]:8081 can be reached"
            )
        )
    }
}

/// The group `tls` of the whole configuration, read.
@Suite struct DeviceTLSSettingsTests {
    private static let made = TestCertificates.shared
    private static let pair =
        "certificate: \(made.certificate("server")), key: \(made.key("server"))"
    @Test("It listens where it is told to, or else on the usual port")
    func settings() throws {
        func tls(_ more: String) throws -> DeviceTLS? {
            try read(minimal + "tls: {\(Self.pair)\(more)}\n").tls
        }
        #expect(try read(minimal).tls == nil)
        let server = TLSSettings(certificates: [Self.made.files("server")])
        let usual = ListenAddress.everywhere(port: 8443)
        #expect(try tls("") == DeviceTLS(listen: usual, settings: server))
        let named = ListenAddress(host: "::1", port: 443)
        #expect(
            try tls(", listen: \"[::1]:443\"") == DeviceTLS(listen: named, settings: server)
        )
    }

    @Test(
        "A mistake is named with its key and remedy",
        arguments: [
            ("tls: {listen: \":8443\"}", "tls.certificate: is missing; name the file"),
            ("tls: {PAIR, listen: 8443}", "tls.listen: \"8443\" is not an address to listen on"),
            ("tls: {PAIR, listen: \":8080\"}", "tls.listen: [::]:8080 takes the port of listen"),
            ("tls: {PAIR, listen: 127.0.0.1:8081}", "tls.listen: 127.0.0.1:8081 takes the port of"),
            ("listen: \":8443\"\ntls: {PAIR}", "tls.listen: [::]:8443 takes the port of listen"),
            ("tls: {PAIR, ca: x}", "tls.ca: unknown key; known: listen, certificate, key,"),
        ]
    )
    func mistakes(text: String, part: String) {
        let said = problems(minimal + text.replacing("PAIR", with: Self.pair) + "\n")
            .joined(separator: "\n")
        #expect(said.contains(part), "\(said)")
        #expect(said.split(separator: "\n").count <= 2, "\(said)")
    }

    @Test("The summary of a check tells of it")
    func check() throws {
        let authority = "client_ca: \(Self.made.certificate("authority"))"
        let summary = ConfigurationSummary.text(
            try read(minimal + "tls: {\(Self.pair), \(authority)}\n")
        )
        #expect(
            summary.contains(
                "  devices      [::]:8080\n"
                    + "  devices-tls  [::]:8443, TLS and certificates of clients\n"
            ),
            "\(summary)"
        )
    }
}

import Configuration
import Net
import TestConfiguration
import TestSupport
import Testing

/// The group `tls` of the configuration file, read.
@Suite struct TLSSettingsTests {
    private static let made = TestCertificates.shared
    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

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
        let directory = TemporaryDirectory()
        do {
            _ = try GatewayConfiguration.read(
                .init(file: directory.file("sluice.yaml", text(tls)), environment: keys)
            )
            return "nothing is wrong"
        } catch {
            return "\(error)".replacing("\(directory.path)/sluice.yaml:3: admin.", with: "")
                .replacing(Self.made.directory + "/", with: "")
        }
    }

    @Test("Every setting of it is understood")
    func settings() throws {
        func tls(_ tls: String) throws -> TLSSettings? { try read(text(tls), keys).admin.tls }
        let server = Self.made.files("server")
        let authority = Self.made.certificate("authority")
        let pair = "certificate: C:server, key: K:server"
        #expect(try read(minimal, keys).admin.tls == nil)
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
            (
                "certificate: C:server, key: /nowhere",
                "tls.key: /nowhere cannot be read: No such file or directory; check the path"
            ),
            (
                "certificate: C:server, key: K:exact",
                "tls.key: the private key in exact.key does not belong to the first certificate in"
            ),
            (
                "certificate: K:server, key: K:server",
                "tls.certificate: server.key holds no certificate in PEM form"
            ),
            (
                "certificate: C:server, key: K:server, client_ca: K:server",
                "tls.client_ca: server.key holds no certificate in PEM form"
            ),
            (
                "certificate: C:server, key: K:server, client_certificates: required",
                "tls.client_certificates: wants client_ca, a file with the authority"
            ),
            (
                "certificate: C:server, key: K:server, client_certificates: require",
                "tls.client_certificates: \"require\" is not one of none, optional, required; did you"
            ),
            (
                "certificate: C:server, key: K:server, minimum_version: 1.1",
                "tls.minimum_version: \"1.1\" is not one of 1.2, 1.3"
            ),
            (
                "certificate: C:server, key: K:server, ciphers: all",
                "tls.ciphers: unknown key; known: certificate, key, certificates, client_ca, "
            ),
            (
                "certificate: C:server, certificates: [{certificate: C:exact, key: K:exact}]",
                "tls.certificates: there is certificate too; put all of them into the list"
            ),
            ("certificates: []", "tls.certificates: is an empty list; give at least 1"),
            (
                "certificates: 5",
                "tls.certificates: wants a list of groups of settings, got a plain"
            ),
            (
                "certificates: [{certificate: C:exact}]",
                "tls.certificates[0].key: is missing; name the file"
            ),
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
        let said = problems(tls)
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
            environment: keys
        )
        #expect(throws: ConfigurationProblems.self) { try GatewayConfiguration.read(inputs) }
        inputs.readsCertificates = false
        #expect(try GatewayConfiguration.read(inputs).admin.tls != nil)
        #expect(try AdminAccess.find(inputs).tls != nil, "an operator may not read the key")
    }

    @Test("The summary of a check tells of TLS, and warns where tokens would travel in the open")
    func check() throws {
        let secure = try read(
            text("certificate: C:server, key: K:server, client_ca: C:authority"),
            keys
        )
        let summary = ConfigurationSummary.text(secure)
        #expect(summary.contains("token of its own making, TLS and certificates of clients\n"))
        #expect(!summary.contains("warning      the admin"))
        let token = String(repeating: "t", count: 32)
        let open = try read(minimal + "admin: {listen: \":8081\", token: \(token)}\n", keys)
        #expect(
            ConfigurationSummary.text(open).contains(
                "  warning      the admin listener [::]:8081 can be reached"
            )
        )
    }
}

import COpenSSL
import Net
import System
import TestSupport
import Testing

@testable import HTTP
@testable import Net

/// Mutual TLS.
@Suite(.timeLimit(.minutes(10)))
struct ClientCertificateTests {
    static let files = TestCertificates.shared
    static let authority = files.certificate("authority")

    /// What the server calls the client; nil when it does not let it in.
    private func name(
        _ certificate: String?,
        _ server: TestServer,
        version: CInt = TLS1_3_VERSION
    ) throws -> String? {
        try server.visit(ClientTLS.Options(certificate: certificate, version: version))?.name
    }

    @Test(
        "With a required certificate, a client gets its name and others are refused",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func required(version: CInt) throws {
        let server = try TestServer.securely(clients: .required(authorities: Self.authority))
        #expect(try name("client", server, version: version) == "dns:phone-7.example.com dns:other")
        #expect(try name("plain-client", server, version: version) == "cn:phone 8")
        #expect(try name(nil, server, version: version) == nil)
        #expect(try name("wrong-client", server, version: version) == nil)
        #expect(server.eventually { $0[.failedHandshakes] == 2 && $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 2)
    }

    @Test("With an optional certificate, no certificate is accepted and a wrong one is refused")
    func optional() throws {
        let server = try TestServer.securely(clients: .optional(authorities: Self.authority))
        #expect(try name("client", server) == "dns:phone-7.example.com dns:other")
        #expect(try name(nil, server) == "nobody")
        #expect(try name("wrong-client", server) == nil)
    }

    @Test("Without client authentication, a client's certificate is ignored")
    func none() throws {
        let server = try TestServer.securely()
        #expect(try name("client", server) == "nobody")
    }

    @Test("The client rules apply with each of the server's certificates")
    func everyContext() throws {
        let server = try TestServer.securely(
            ["server", "exact"],
            clients: .required(authorities: Self.authority)
        )
        for certificate in ["client", "wrong-client", nil] {
            let options = ClientTLS.Options(
                serverName: "api.example.com",
                certificate: certificate
            )
            let expected = certificate == "client" ? "dns:phone-7.example.com dns:other" : nil
            #expect(try server.visit(options)?.name == expected)
        }
    }

    @Test("A refused client gets the TLS alert even if it has sent more")
    func alert() throws {
        let server = try TestServer.securely(clients: .required(authorities: Self.authority))
        let client = try server.client()
        try client.secure()
        client.send(get("/name") + get("/name"))
        #expect(client.endsUnanswered())
        #expect(ClientTLS.lastAlert == SSL_AD_CERTIFICATE_REQUIRED)
    }

    // MARK: - Chains

    private func isLetIn(_ certificate: String, authorities: String) throws -> Bool {
        let server = try TestServer.securely(clients: .required(authorities: authorities))
        return try name(certificate, server) != nil
    }

    @Test("A listener that trusts an intermediate authority admits only clients of that authority")
    func intermediate() throws {
        Self.files.issue("devices", subject: "/CN=devices")
        Self.files.issue("by-devices", by: "devices")
        let authorities = Self.files.certificate("devices")
        #expect(try isLetIn("by-devices", authorities: authorities))
        #expect(try !isLetIn("client", authorities: authorities))
        #expect(try !isLetIn("wrong-client", authorities: authorities))
    }

    @Test("A client with an expired certificate, or one for servers, is refused")
    func unfit() throws {
        Self.files.issue("ended")
        Self.files.end("ended", in: -60)
        Self.files.issue("for-servers", extensions: ["extendedKeyUsage=serverAuth"])
        Self.files.issue("for-clients", extensions: ["extendedKeyUsage=clientAuth"])
        let authorities = Self.files.certificate("authority")
        #expect(try !isLetIn("ended", authorities: authorities))
        #expect(try !isLetIn("for-servers", authorities: authorities))
        #expect(try isLetIn("for-clients", authorities: authorities))
    }

    // MARK: - Names

    private func names(_ subject: String, _ alternatives: String?) -> [String] {
        let name = "named"
        Self.files.issue(
            name,
            subject: subject,
            extensions: alternatives.map { ["subjectAltName=\($0)"] } ?? []
        )
        let file = BIO_new_file(Self.files.certificate(name), "r")
        defer { BIO_free(file) }
        guard let certificate = PEM_read_bio_X509(file, nil, nil, nil) else { return ["none"] }
        defer { X509_free(certificate) }
        return ClientCertificate(certificate).names
    }

    @Test("A certificate's names are all read, each with its kind")
    func kinds() {
        #expect(
            names(
                "/CN=ignored",
                "DNS:phone-7.example.com,URI:spiffe://fleet/phone,email:a@example.com,"
                    + "IP:192.0.2.1,IP:2001:db8::1"
            ) == [
                "dns:phone-7.example.com", "uri:spiffe://fleet/phone", "mail:a@example.com",
                "ip:192.0.2.1", "ip:2001:db8::1",
            ]
        )
    }

    @Test("The common name counts only without a list of alternative names")
    func common() {
        #expect(names("/O=Sluice/CN=phone 8", nil) == ["cn:phone 8"])
        #expect(names("/O=Sluice/CN=Kühlschrank", nil) == ["cn:Kühlschrank"])
        #expect(names("/O=Sluice", nil) == [])
        #expect(names("/CN=phone-7.example.com", "otherName:1.2.3.4;UTF8:mallory") == [])
        #expect(names("/CN=phone-7.example.com", "RID:1.2.3.4") == [])
    }

    @Test(
        "A name that could be mistaken for another one is ignored",
        arguments: [
            "/CN=a\u{202e}b", "/CN=a\u{200b}b", "/CN=a\u{85}b", "/CN=a\u{feff}b", "/CN=a\u{2028}b",
        ]
    )
    func deceiving(subject: String) {
        #expect(names(subject, nil) == [])
    }

    @Test("Alternative names with other characters than visible ASCII are ignored")
    func visible() {
        #expect(names("/CN=x", "DNS:a b,URI:u v,DNS:fine") == ["dns:fine"])
    }
}

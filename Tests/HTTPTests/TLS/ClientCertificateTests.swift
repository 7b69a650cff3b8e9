import COpenSSL
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Mutual TLS.
@Suite(.timeLimit(.minutes(1)))
struct ClientCertificateTests {
    static let get = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"
    static let authority = TestCertificates.shared.certificate("authority")

    /// What the server calls the client; nil when it does not let it in.
    private func name(
        _ certificate: String?,
        _ server: TestServer,
        version: CInt = TLS1_3_VERSION
    ) throws -> String? {
        let client = try server.client()
        let options = ClientTLS.Options(certificate: certificate, version: version)
        // A TLS 1.3 client has done its part before the server has looked at its certificate.
        guard (try? client.secure(options)) != nil else { return nil }
        client.send(Self.get)
        return client.answer()?.text
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
        for certificate in ["client", "wrong-client", nil] as [String?] {
            let client = try server.client()
            let options = ClientTLS.Options(
                serverName: "api.example.com",
                certificate: certificate
            )
            _ = try? client.secure(options)
            client.send(Self.get)
            #expect(
                client.answer()?.text
                    == (certificate == "client" ? "dns:phone-7.example.com dns:other" : nil)
            )
        }
    }

    @Test("A refused client gets the TLS alert even if it has sent more")
    func alert() throws {
        let server = try TestServer.securely(clients: .required(authorities: Self.authority))
        let client = try server.client()
        try client.secure()
        client.send(Self.get + Self.get)
        #expect(client.endsUnanswered())
        #expect(ClientTLS.lastAlert == SSL_AD_CERTIFICATE_REQUIRED)
    }
}

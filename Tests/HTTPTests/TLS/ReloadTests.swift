import COpenSSL
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Sessions that are resumed, and certificates that are replaced while the server serves.
@Suite(.timeLimit(.minutes(1)))
struct ReloadTests {
    static let get = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"
    static let files = TestCertificates.shared

    private func settings(_ names: String...) -> TLSSettings {
        TLSSettings(
            certificates: names.map(Self.files.files),
            clientCertificates: .optional(authorities: Self.files.certificate("authority"))
        )
    }

    /// A connection that has had an answer, and with it the ticket for the next one.
    private func visit(
        _ server: TestServer,
        version: CInt,
        session: TLSSession? = nil
    ) throws -> (name: String?, tls: ClientTLS) {
        let options = ClientTLS.Options(
            serverName: "api.example.com",
            certificate: "client",
            version: version,
            session: session
        )
        let client = try server.secureClient(options)
        client.send(Self.get)
        let name = client.answer()?.text
        return (name, try #require(client.tls))
    }

    @Test(
        "A client that reconnects resumes its session with its name, until a reload",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func resumption(version: CInt) throws {
        let context = try TLSContext(settings("server", "exact"))
        let server = try TestServer(tls: context)
        let first = try visit(server, version: version)
        #expect(!first.tls.isResumed)
        let second = try visit(server, version: version, session: first.tls.session)
        #expect(second.tls.isResumed)
        #expect(second.name == "dns:phone-7.example.com dns:other")
        #expect(server.server.counters[.handshakes] == 2)
        #expect(server.server.counters[.resumptions] == 1)
        try context.replace(settings("server", "exact"))
        // An authority may have been taken out of the list.
        let third = try visit(server, version: version, session: second.tls.session)
        #expect(!third.tls.isResumed)
        #expect(third.name == "dns:phone-7.example.com dns:other")
    }

    @Test("A reload changes the certificate of new connections only")
    func reload() throws {
        let context = try TLSContext(settings("server"))
        let server = try TestServer(tls: context)
        let old = try server.secureClient()
        let handshaking = try server.client()
        #expect(server.eventually { $0[.openConnections] == 2 })
        #expect(context.certificates.map(\.names) == [["localhost", "127.0.0.1"]])
        try context.replace(settings("wildcard", "exact"))
        #expect(context.certificates.map(\.names) == [["*.example.com"], ["api.example.com"]])
        for client in [old, try server.secureClient()] {
            client.send(Self.get)
            #expect(client.answer()?.text == "nobody")
        }
        let options = ClientTLS.Options(serverName: "api.example.com")
        #expect(try server.secureClient(options).tls?.serverNames == ["api.example.com"])
        // It was here before the reload, and gets what was there then.
        try handshaking.secure(options)
        #expect(handshaking.tls?.serverNames == ["localhost", "127.0.0.1"])
    }

    @Test("A reload that fails keeps the old certificates")
    func failedReload() throws {
        let context = try TLSContext(settings("server"))
        let server = try TestServer(tls: context)
        let before = context.certificates
        #expect(throws: TLSError.self) { try context.replace(settings("server", "nowhere")) }
        #expect(throws: TLSError.noCertificate) {
            try context.replace(TLSSettings(certificates: []))
        }
        #expect(context.certificates == before)
        #expect(try server.secureClient().tls?.serverNames == ["localhost", "127.0.0.1"])
    }
}

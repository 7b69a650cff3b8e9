import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Sessions that are resumed, and certificates that are replaced while the server serves.
@Suite(.timeLimit(.minutes(10)))
struct SessionTests {
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
    ) throws -> (name: String, tls: ClientTLS) {
        let options = ClientTLS.Options(
            serverName: "api.example.com",
            certificate: "client",
            version: version,
            session: session
        )
        let visit = try #require(try server.visit(options))
        return (visit.name, visit.tls)
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
            client.send(get("/name"))
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

    // MARK: - A session ends with its certificate, and with the trust in who signed it

    private static func required(_ authority: String = "authority") -> TLSSettings {
        TLSSettings(
            certificates: [files.files("server")],
            clientCertificates: .required(authorities: files.certificate(authority))
        )
    }

    private func wait(until moment: Moment) {
        while Moment.now < moment { usleep(20_000) }
    }

    @Test(
        "A client whose certificate expires is refused, with a ticket and on an open connection",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func expiry(version: CInt) throws {
        let name = "short-\(version)"
        Self.files.issue(name)
        let server = try TestServer(tls: TLSContext(Self.required()))
        let begun = Moment.now
        Self.files.end(name, in: 3)
        var options = ClientTLS.Options(certificate: name, version: version)
        let first = try #require(try server.visit(options))
        options.session = first.tls.session
        let second = try #require(try server.visit(options))
        #expect(second.tls.isResumed)
        // Times of certificates are whole seconds, and the last one still counts.
        wait(until: begun + .milliseconds(4200))
        options.session = second.tls.session
        #expect(try server.visit(options) == nil)
        first.client.send(get("/name") + get("/name"))
        let answer = try #require(first.client.answer())
        #expect(answer.status == 503)
        #expect(answer["connection"] == "close")
        #expect(first.client.isEnded())
    }

    @Test(
        "Resuming a session does not extend its lifetime",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func sessionTime(version: CInt) throws {
        var settings = Self.required()
        settings.sessionTime = .seconds(3)
        let server = try TestServer(tls: TLSContext(settings))
        var options = ClientTLS.Options(certificate: "client", version: version)
        let begun = Moment.now
        let first = try #require(try server.visit(options))
        wait(until: begun + .milliseconds(1500))
        options.session = first.tls.session
        let second = try #require(try server.visit(options))
        #expect(second.tls.isResumed)
        // Its own ticket is young, but not the session.
        wait(until: begun + .milliseconds(4200))
        options.session = second.tls.session
        let third = try #require(try server.visit(options))
        #expect(!third.tls.isResumed)
    }

    @Test("New client rules end sessions and connections; a reload of equal rules does not")
    func otherAuthorities() throws {
        let context = try TLSContext(Self.required())
        let server = try TestServer(tls: context)
        let options = ClientTLS.Options(certificate: "client")
        let early = try #require(try server.visit(options)).client
        try context.replace(Self.required())
        early.send(get("/name"))
        #expect(early.answer()?.text == "dns:phone-7.example.com dns:other")
        try context.replace(Self.required("stranger"))
        early.send(get("/name"))
        #expect(early.answer()?.status == 503)
        #expect(early.isEnded())
        #expect(try server.visit(options) == nil)
        #expect(try server.visit(ClientTLS.Options(certificate: "wrong-client")) != nil)
    }
}

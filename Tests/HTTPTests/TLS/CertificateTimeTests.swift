import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// A client's name lasts no longer than its certificate, and than the trust in who signed it.
@Suite(.timeLimit(.minutes(1)))
struct CertificateTimeTests {
    static let get = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"
    static let files = TestCertificates.shared

    static func settings(_ authority: String = "authority") -> TLSSettings {
        TLSSettings(
            certificates: [files.files("server")],
            clientCertificates: .required(authorities: files.certificate(authority))
        )
    }

    /// Nil when the server does not let the client in.
    private func visit(
        _ server: TestServer,
        _ options: ClientTLS.Options
    ) throws -> (client: TestConnection, tls: ClientTLS)? {
        let client = try server.client()
        guard let tls = try? client.secure(options) else { return nil }
        client.send(Self.get)
        guard client.answer()?.status == 200 else { return nil }
        return (client, tls)
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
        let server = try TestServer(tls: TLSContext(Self.settings()))
        let begun = Moment.now
        Self.files.end(name, in: 3)
        var options = ClientTLS.Options(certificate: name, version: version)
        let first = try #require(try visit(server, options))
        options.session = first.tls.session
        let second = try #require(try visit(server, options))
        #expect(second.tls.isResumed)
        // Times of certificates are whole seconds, and the last one still counts.
        wait(until: begun + .milliseconds(4200))
        options.session = second.tls.session
        #expect(try visit(server, options) == nil)
        first.client.send(Self.get + Self.get)
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
        var settings = Self.settings()
        settings.sessionTime = .seconds(3)
        let server = try TestServer(tls: TLSContext(settings))
        var options = ClientTLS.Options(certificate: "client", version: version)
        let begun = Moment.now
        let first = try #require(try visit(server, options))
        wait(until: begun + .milliseconds(1500))
        options.session = first.tls.session
        let second = try #require(try visit(server, options))
        #expect(second.tls.isResumed)
        // Its own ticket is young, but not the session.
        wait(until: begun + .milliseconds(4200))
        options.session = second.tls.session
        let third = try #require(try visit(server, options))
        #expect(!third.tls.isResumed)
    }

    @Test("New client rules end sessions and connections; a reload of equal rules does not")
    func otherAuthorities() throws {
        let context = try TLSContext(Self.settings())
        let server = try TestServer(tls: context)
        let options = ClientTLS.Options(certificate: "client")
        let early = try #require(try visit(server, options)).client
        try context.replace(Self.settings())
        early.send(Self.get)
        #expect(early.answer()?.text == "dns:phone-7.example.com dns:other")
        try context.replace(Self.settings("stranger"))
        early.send(Self.get)
        #expect(early.answer()?.status == 503)
        #expect(early.isEnded())
        #expect(try visit(server, options) == nil)
        #expect(try visit(server, ClientTLS.Options(certificate: "wrong-client")) != nil)
    }
}

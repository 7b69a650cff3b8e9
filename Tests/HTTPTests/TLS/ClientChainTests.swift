import COpenSSL
import Net
import TestSupport
import Testing

@testable import HTTP

/// Whom an authority vouches for, and for what.
@Suite(.timeLimit(.minutes(1)))
struct ClientChainTests {
    static let files = TestCertificates.shared

    private func isLetIn(_ certificate: String, authorities: String) throws -> Bool {
        let server = try TestServer.securely(clients: .required(authorities: authorities))
        let client = try server.client()
        guard (try? client.secure(ClientTLS.Options(certificate: certificate))) != nil else {
            return false
        }
        client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        return client.answer()?.status == 200
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
}

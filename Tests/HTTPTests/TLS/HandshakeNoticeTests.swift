import COpenSSL
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Whoever finds no way in, and whose way in it is, hear why.
@Suite(.timeLimit(.minutes(1)))
struct HandshakeNoticeTests {
    static let files = TestCertificates.shared

    private func server(_ recorder: JournalRecorder) throws -> TestServer {
        let settings = TLSSettings(
            certificates: [Self.files.files("server")],
            clientCertificates: .required(authorities: Self.files.certificate("authority"))
        )
        return try TestServer(tls: TLSContext(settings), journal: recorder.journal)
    }

    @Test("Failed handshakes give one journal line in ten seconds, with the last reason")
    func failures() throws {
        let recorder = JournalRecorder(level: .info)
        let server = try server(recorder)
        for _ in 0..<5 {
            let client = try server.client()
            _ = try? client.secure(ClientTLS.Options(certificate: "wrong-client"))
            #expect(client.rest().isEmpty)
        }
        #expect(server.eventually { $0[.failedHandshakes] == 5 })
        #expect(recorder.lines.now.count == 1)
        let line = try #require(recorder.lines.now.first)
        #expect(line.contains(#""level":"warning""#))
        #expect(line.contains(#""failed":1,"last_peer":"127.0.0.1","last_reason":"#))
        #expect(line.contains("certificate verify failed"))
    }

    @Test("A connection that closes without a byte gives no journal line")
    func probes() throws {
        let recorder = JournalRecorder(level: .info)
        let server = try server(recorder)
        for _ in 0..<3 { try server.client().finishWriting() }
        #expect(server.eventually { $0[.failedHandshakes] == 3 })
        #expect(recorder.lines.now.isEmpty)
    }

    @Test("A client that sends plain HTTP is told to use https", arguments: ["GET", "POST"])
    func plainly(method: String) throws {
        let server = try server(JournalRecorder(level: .info))
        let client = try server.client()
        client.send("\(method) /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        let answer = try #require(client.answer())
        #expect(answer.status == 400)
        #expect(answer.text.contains("TLS") && answer.text.contains("https"))
        #expect(answer["connection"] == "close")
        #expect(client.isEnded())
        #expect(server.server.counters[.failedHandshakes] == 1)
        #expect(server.server.counters[.malformed] == 1)
    }
}

import COpenSSL
import System
import TestSupport
import Testing

@testable import HTTP

/// Clients that go on with handshakes where requests are due.
@Suite(.timeLimit(.minutes(1)))
struct HandshakeFloodTests {
    @Test("A few TLS messages after the handshake are accepted; a flood ends the connection")
    func keyUpdates() throws {
        let server = try TestServer.securely(loops: 1) { $0.lingerTime = .milliseconds(50) }
        for (count, answer) in [(10, "/a 0"), (20_000, nil)] as [(Int, String?)] {
            let client = try server.secureClient()
            let tls = try #require(client.tls)
            let flood = tls.records(client.descriptor, bytesMax: count * 40) {
                for _ in 0..<count {
                    SSL_key_update(tls.tls, SSL_KEY_UPDATE_NOT_REQUESTED)
                    SSL_do_handshake(tls.tls)
                }
            }
            #expect(flood.count > count * 20)
            client.tls = nil
            client.send(flood)
            client.tls = tls
            client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.answer()?.text == answer)
        }
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.broken] == 1 })
        #expect(server.server.counters.requests == 1)
    }
}

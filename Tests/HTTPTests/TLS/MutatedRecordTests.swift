import COpenSSL
import System
import TestSupport
import Testing

@testable import HTTP

/// Clients whose records break on the way.
@Suite(.timeLimit(.minutes(1)))
struct MutatedRecordTests {
    static let requests = [
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]

    @Test("The server survives mutated TLS records", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        let server = try TestServer.securely {
            // Also the time for a handshake, on a busy machine.
            $0.headTime = .seconds(1)
            $0.bodyTime = .milliseconds(100)
            $0.idleTime = .milliseconds(300)
            $0.lingerTime = .milliseconds(50)
        }
        var random = SeededRandom(seed: seed)
        for round in 0..<40 {
            let version = round % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION
            let client = try server.secureClient(ClientTLS.Options(version: version))
            let tls = try #require(client.tls)
            let bytes = tls.records(client.descriptor, bytesMax: 4096) {
                for request in Self.requests { client.send(request) }
            }
            #expect(bytes.count > 150)
            client.tls = nil
            client.send(bytes.mutated(using: &random))
            if Bool.random(using: &random) { client.finishWriting() }
            if Bool.random(using: &random) { client.reset() }
        }
        #expect(
            server.eventually {
                $0[.openConnections] == 0 && $0[.accepted] == 40 && $0[.heldBodies] == 0
            }
        )
        let client = try server.secureClient()
        client.send(Self.requests[1])
        #expect(client.answer()?.text == "abc")
    }
}

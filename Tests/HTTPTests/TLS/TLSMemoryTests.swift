import Glibc
import System
import TestTLS
import Testing

@testable import HTTP

/// What OpenSSL holds for a client has its bound with the heads.
@Suite(.timeLimit(.minutes(1)))
struct TLSMemoryTests {
    /// The head of a record, and of a ClientHello that is to have 128 KiB.
    private static let endless: [UInt8] =
        [0x16, 3, 1, 0x40, 0] + [1, 1, 0xFF, 0xB8, 3, 3]
        + Array(repeating: UInt8(ascii: "x"), count: 0x4000 - 6)

    @Test("A ClientHello that claims to be long is charged, and one without room is ended")
    func claims() throws {
        let server = try TestServer.securely { $0.heldHeadBytes = 600 << 10 }
        var clients: [TestClient] = []
        do {
            let first = try server.client()
            first.send(Self.endless)
            #expect(server.eventually { $0.heldHeadBytes > 100 << 10 })
            let second = try server.client()
            second.send(Self.endless)
            #expect(server.eventually { $0.refusedHeads == 1 && $0.connectionsOpen == 1 })
            #expect(server.server.counters.heldHeadBytes < 300 << 10)
            clients.append(first)
        }
        clients.removeAll()
        #expect(server.eventually { $0.heldHeadBytes == 0 })
    }

    @Test(
        "A client that says nothing has no buffers, and one with nothing under way is not charged"
    )
    func idle() throws {
        let server = try TestServer.securely()
        let silent = try server.client()
        let client = try server.secureClient()
        client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
        #expect(server.eventually { $0.connectionsOpen == 2 && $0.heldHeadBytes == 0 })
        // A record that has begun: past the client's own TLS.
        client.tls = nil
        client.send([0x17, 3, 3, 0x40, 0] + Array(repeating: 0, count: 1000))
        #expect(server.eventually { $0.heldHeadBytes > 15 << 10 && $0.heldHeadBytes < 20 << 10 })
        _ = silent
    }

    @Test("A handshake that stops is charged for its buffers")
    func stopped() throws {
        let server = try TestServer.securely()
        let client = try server.client()
        client.send([0x16, 3, 1, 0, 0xC8] + [1, 0, 0, 0xC4, 3, 3])
        #expect(server.eventually { $0.heldHeadBytes > 0 })
        #expect(server.server.counters.heldHeadBytes < 64 << 10)
        client.reset()
        #expect(server.eventually { $0.heldHeadBytes == 0 })
    }
}

import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What OpenSSL holds for a client has its bound with the heads.
@Suite(.timeLimit(.minutes(10)))
struct TLSMemoryTests {
    /// The head of a record, and of a ClientHello that is to have 128 KiB.
    private static let endless: [UInt8] =
        [0x16, 3, 1, 0x40, 0] + [1, 1, 0xFF, 0xB8, 3, 3]
        + Array(repeating: UInt8(ascii: "x"), count: 0x4000 - 6)

    @Test("A long ClientHello is charged, and ends the connection without room")
    func claims() throws {
        let server = try TestServer.securely { $0.heldHeadBytes = 600 << 10 }
        var clients: [TestConnection] = []
        do {
            let first = try server.client(sending: Self.endless)
            #expect(server.eventually { $0[.heldHeads] > 100 << 10 })
            let second = try server.client()
            second.send(Self.endless)
            #expect(server.eventually { $0[.refusedHeads] == 1 && $0[.openConnections] == 1 })
            #expect(server.server.counters[.heldHeads] < 300 << 10)
            clients.append(first)
        }
        clients.removeAll()
        #expect(server.eventually { $0[.heldHeads] == 0 })
    }

    @Test(
        "A client that says nothing has no buffers, and one with nothing under way is not charged"
    )
    func idle() throws {
        let server = try TestServer.securely(loops: 1)
        // The first session of a thread is charged for what OpenSSL keeps for all.
        _ = try server.secureClient()
        #expect(server.eventually { $0[.handshakes] == 1 && $0[.openConnections] == 0 })
        let silent = try server.client()
        let client = try server.secureClient(sending: get("/a"))
        #expect(client.answer()?.status == 200)
        #expect(server.eventually { $0[.openConnections] == 2 && $0[.heldHeads] == 0 })
        // A record that has begun: past the client's own TLS.
        client.tls = nil
        client.send([0x17, 3, 3, 0x40, 0] + Array(repeating: 0, count: 1000))
        #expect(server.eventually { $0[.heldHeads] > 12 << 10 && $0[.heldHeads] < 20 << 10 })
        _ = silent
    }

    @Test("A handshake that stops stays charged for its buffers")
    func stopped() throws {
        let server = try TestServer.securely()
        let client = try server.client(sending: [0x16, 3, 1, 0, 0xC8] + [1, 0, 0, 0xC4, 3, 3])
        #expect(server.eventually { $0[.heldHeads] > 0 })
        #expect(server.server.counters[.heldHeads] < 64 << 10)
        client.reset()
        #expect(server.eventually { $0[.heldHeads] == 0 })
    }

    // MARK: - Certificates of clients

    /// A pair of files, whose certificate has a comment of so many bytes.
    private static func issue(_ name: String, commentBytes: Int, by authority: String = "authority")
    {
        let comment = String(repeating: "x", count: commentBytes)
        TestCertificates.shared.issue(name, by: authority, extensions: ["nsComment=\(comment)"])
    }

    private func guarded(
        _ adjust: (inout HTTPServer.Limits) -> Void = { _ in }
    ) throws -> TestServer {
        let authorities = TestCertificates.shared.certificate("authority")
        let server = try TestServer.securely(
            clients: .required(authorities: authorities),
            loops: 1,
            adjust
        )
        // The first session of a thread is charged for what OpenSSL keeps for all.
        _ = try visit("client", server)
        #expect(server.eventually { $0[.handshakes] == 1 && $0[.openConnections] == 0 })
        return server
    }

    private func visit(_ certificate: String, _ server: TestServer) throws -> TestConnection? {
        try server.visit(ClientTLS.Options(certificate: certificate))?.client
    }

    @Test("The memory of a client's long certificate stays charged as long as its connection")
    func longCertificate() throws {
        Self.issue("long", commentBytes: 12_000)
        let server = try guarded()
        do {
            let usual = try #require(try visit("client", server))
            #expect(server.eventually { $0[.openConnections] == 1 && $0[.heldHeads] == 0 })
            let long = try #require(try visit("long", server))
            long.send(get("/a"))
            #expect(long.answer()?.status == 200)
            #expect(server.eventually { $0[.heldHeads] > 4 << 10 && $0[.heldHeads] < 64 << 10 })
            _ = usual
        }
        #expect(server.eventually { $0[.heldHeads] == 0 })
    }

    @Test("A client's certificates beyond 16 KiB are not read")
    func endlessCertificate() throws {
        Self.issue("endless", commentBytes: 17 << 10)
        let server = try guarded()
        #expect(try visit("endless", server) == nil)
        #expect(server.eventually { $0[.failedHandshakes] == 1 })
    }

    @Test("The memory of a failed handshake stays charged while its connection lingers")
    func failed() throws {
        Self.issue("strange", commentBytes: 12_000, by: "stranger")
        let server = try guarded {
            $0.lingerTime = .seconds(60)
            $0.lingerTimeMax = .seconds(60)
        }
        do {
            let client = try server.client()
            _ = try? client.secure(ClientTLS.Options(certificate: "strange"))
            #expect(server.eventually { $0[.failedHandshakes] == 1 })
            #expect(server.eventually { $0[.heldHeads] > 4 << 10 })
            #expect(server.server.counters[.openConnections] == 1)
        }
        #expect(server.eventually { $0[.heldHeads] == 0 && $0[.openConnections] == 0 })
    }

    @Test("A client gets its answer even if its next TLS record finds no room")
    func answered() throws {
        // Half of it is for one address, less than these records take that have begun.
        let server = try TestServer.securely { $0.heldHeadBytes = 400 << 10 }
        let client = try server.secureClient()
        let record: [UInt8] = [0x17, 3, 3, 0x40, 0] + Array(repeating: 0, count: 1000)
        let others = try (0..<14).map { _ in try server.secureClient() }
        for other in others {
            other.send(get("/a"))
            #expect(other.answer()?.status == 200)
        }
        for other in others where server.server.counters[.refusedHeads] == 0 {
            let held = server.server.counters[.heldHeads]
            // Past the client's own TLS.
            other.tls = nil
            other.send(record)
            #expect(server.eventually { $0[.heldHeads] > held || $0[.refusedHeads] > 0 })
        }
        // The one that was refused has gone.
        #expect(server.eventually { $0[.refusedHeads] > 0 && $0[.openConnections] == others.count })
        let refused = server.server.counters[.refusedHeads]
        // The record comes with the request, so that it is read before the answer.
        client.cork(true)
        client.send(get("/later"))
        let tls = client.tls
        client.tls = nil
        client.send(record)
        client.cork(false)
        client.tls = tls
        let request = server.held.next()
        #expect(server.eventually { $0[.refusedHeads] > refused })
        request.responder.send(Response(status: 200))
        let answer = try #require(client.answer())
        #expect(answer.status == 200 && answer["connection"] == "close")
    }
}

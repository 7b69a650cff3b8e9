import COpenSSL
import System
import TestSupport
import Testing

@testable import HTTP

/// Clients that speak something like TLS.
@Suite(.timeLimit(.minutes(10)))
struct MutatedTLSTests {
    /// The first bytes of a client, as it would send them.
    private static func hello() -> [UInt8] {
        let context = SSL_CTX_new(TLS_client_method())
        let session = SSL_new(context)
        defer {
            SSL_free(session)
            SSL_CTX_free(context)
        }
        let written = BIO_new(BIO_s_mem())
        SSL_set_bio(session, BIO_new(BIO_s_mem()), written)
        SSL_connect(session)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = BIO_read(written, &bytes, CInt(bytes.count))
        ERR_clear_error()
        return Array(bytes.prefix(Int(max(0, count))))
    }

    @Test("The server survives mutated TLS handshakes", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        let server = try TestServer.securely {
            $0.headTime = .milliseconds(100)
            $0.lingerTime = .milliseconds(100)
        }
        let hello = Self.hello()
        #expect(hello.count > 100)
        var random = SeededRandom(seed: seed)
        for _ in 0..<100 {
            let client = try server.client(sending: hello.mutated(using: &random))
            if Bool.random(using: &random) { client.send(hello.mutated(using: &random)) }
            if Bool.random(using: &random) { client.finishWriting() }
            if Bool.random(using: &random) { client.reset() }
        }
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.accepted] == 100 })
        let client = try server.secureClient(sending: get("/fine"))
        #expect(client.answer()?.text == "/fine 0")
    }

    @Test("A full TLS server closes new connections without a handshake")
    func full() throws {
        let server = try TestServer.securely { $0.connections = 1 }
        let first = try server.secureClient()
        #expect(throws: TestConnection.NoHandshake.self) { try server.secureClient() }
        #expect(server.server.counters[.refusedFull] == 1)
        // The client's part of a handshake is done before the server's.
        #expect(server.eventually { $0[.handshakes] == 1 })
        first.send(get("/fine"))
        #expect(first.answer()?.text == "/fine 0")
    }

    static let requests = [
        get("/a"),
        post("/echo", 3) + "abc",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]

    @Test("The server survives mutated TLS records", arguments: 0..<4 as Range<UInt64>)
    func mutatedRecords(seed: UInt64) throws {
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
        let client = try server.secureClient(sending: Self.requests[1])
        #expect(client.answer()?.text == "abc")
    }
}

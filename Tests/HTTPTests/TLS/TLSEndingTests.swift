import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// How TLS connections end: clients see why, and can tell all from a part.
@Suite(.timeLimit(.minutes(1)))
struct TLSEndingTests {
    static let authority = TestCertificates.shared.certificate("authority")

    @Test("A refused client that is still sending is not reset")
    func refusedHandshake() throws {
        let server = try TestServer.securely(clients: .required(authorities: Self.authority))
        do {
            let client = try server.secureClient()
            client.send(Array(repeating: 0x61, count: 100 << 10))
            #expect(server.eventually { $0[.failedHandshakes] == 1 })
            client.send(Array(repeating: 0x61, count: 100 << 10))
            #expect(client.endsUnanswered())
            #expect(ClientTLS.lastAlert == SSL_AD_CERTIFICATE_REQUIRED)
            #expect(server.server.counters[.openConnections] == 1)
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(server.server.counters[.broken] == 0)
    }

    @Test("A client whose TLS records are unreadable is not reset")
    func brokenRecord() throws {
        let server = try TestServer.securely()
        do {
            let client = try server.secureClient()
            let tls = client.tls
            client.tls = nil
            // A record of application data that nobody sealed, and more behind it.
            client.send([23, 3, 3, 0, 32] + Array(repeating: 0x61, count: 200 << 10))
            client.tls = tls
            #expect(server.eventually { $0[.broken] == 1 })
            #expect(client.endsUnanswered())
            #expect(ClientTLS.lastAlert == SSL_AD_BAD_RECORD_MAC)
            #expect(server.server.counters[.openConnections] == 1)
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test(
        "A stream to HTTP/1.0 ends with close_notify only if it is complete",
        arguments: ["complete", "dropped", "stopped"]
    )
    func oldStream(end: String) throws {
        let server = try TestServer.securely()
        let client = try server.secureClient()
        client.send("GET /later HTTP/1.0\r\n\r\n")
        var stream = server.held.next().responder.stream(Response(status: 200))
        #expect(stream?.write(Array("abc".utf8)) == true)
        #expect(client.answer()?.status == 200)
        switch end {
        case "complete": stream?.finish()
        case "dropped": stream = nil
        default: server.server.stop(within: .seconds(20))
        }
        #expect(client.rest() == "abc")
        #expect(client.tls?.isFinishedByServer == (end == "complete"))
    }

    @Test(
        "A request that is cut by FIN without close_notify is not answered",
        arguments: [
            "GET /a HTTP/1.1\r\nHost: a\r\n",
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabc",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ]
    )
    func cutRequest(text: String) throws {
        let server = try TestServer.securely()
        for politely in [true, false] {
            let client = try server.secureClient()
            client.send(text)
            if politely { client.tls?.finish() }
            client.finishWriting()
            #expect(client.isEnded())
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 0)
    }
}

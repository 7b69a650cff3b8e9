import COpenSSL
import Glibc
import System
import TestSupport
import Testing

@testable import HTTP

/// Each phase has its whole time, also when it follows another of the same kind at once.
@Suite(.timeLimit(.minutes(1)))
struct TimerRestartTests {
    @Test("A head that arrives with the end of the handshake gets a whole head timeout")
    func headAfterHandshake() throws {
        let server = try TestServer.securely { $0.headTime = .seconds(3) }
        let client = try server.client()
        usleep(1_800_000)
        // The last bytes of the handshake and the first of the head leave together.
        client.cork(true)
        try client.secure()
        client.send("GET /a HTTP/1.1\r\n")
        client.cork(false)
        usleep(1_700_000)
        client.send("Host: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
    }

    @Test("A body that arrives with the end of a dropped one gets a whole body timeout")
    func bodyAfterDroppedBody() throws {
        let server = try TestServer { $0.bodyTime = .seconds(3) }
        let client = try server.client()
        client.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        #expect(client.answer()?.status == 401)
        usleep(1_800_000)
        client.send("cdPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nef")
        usleep(1_700_000)
        client.send("gh")
        #expect(client.answer()?.text == "efgh")
    }
}

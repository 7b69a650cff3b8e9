import COpenSSL
import Glibc
import System
import TestSupport
import Testing

@testable import HTTP

/// Each phase has its whole time, also when it follows another of the same kind at once.
@Suite(.timeLimit(.minutes(1)))
struct TimerRestartTests {
    /// One phase takes most of it, and two phases more than it.
    private let timeout = Duration.seconds(3).calibrated()

    /// Nothing tells that time has passed but time.
    private func pass(_ percent: Double) {
        usleep(UInt32(timeout * percent / 100 / .microseconds(1)))
    }

    @Test("A head that arrives with the end of the handshake gets a whole head timeout")
    func headAfterHandshake() throws {
        let server = try TestServer.securely { $0.headTime = timeout }
        let client = try server.client()
        pass(60)
        // The last bytes of the handshake and the first of the head leave together.
        client.cork(true)
        try client.secure()
        client.send("GET /a HTTP/1.1\r\n")
        client.cork(false)
        pass(57)
        client.send("Host: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
    }

    @Test("A body that arrives with the end of a dropped one gets a whole body timeout")
    func bodyAfterDroppedBody() throws {
        let server = try TestServer { $0.bodyTime = timeout }
        let client = try server.client()
        client.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        #expect(client.answer()?.status == 401)
        pass(60)
        client.send("cdPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nef")
        pass(57)
        client.send("gh")
        #expect(client.answer()?.text == "efgh")
    }
}

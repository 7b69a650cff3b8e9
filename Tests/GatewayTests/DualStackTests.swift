import Configuration
import HTTP
import Ingest
import Net
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(1))) struct DualStackTests {
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test("On a socket for both families a v4 client has its v4 address, for proxies and limits")
    func dualStack() throws {
        let trial = try SandboxedGateway {
            $0.listen = .everywhere(port: 0)
            $0.devices.perAddress.rate = Allowance(1, per: .hour)
            $0.devices.proxies.ranges = [AddressRange(IPAddress("127.0.0.1")!, bits: 128)]
        }
        let port = trial.gateway.deviceAddress.port
        func status(_ host: String, _ forwarded: String) throws -> Int {
            var client = TestClient(address: ListenAddress(host: host, port: port))
            client.source = host
            return try client.post("/logs/app", Self.body, ["x-forwarded-for": forwarded]).status
        }
        // The range is written for v4, and the proxy comes through a v6 socket.
        #expect(try status("127.0.0.1", "192.0.2.1") == 200)
        #expect(try status("127.0.0.1", "::ffff:192.0.2.1") == 429)
        #expect(try status("127.0.0.1", "192.0.2.2") == 200)
        // Over v6 it is no trusted proxy, and its header is ignored.
        #expect(try status("::1", "192.0.2.3") == 200)
        #expect(try status("::1", "192.0.2.4") == 429)
    }
}

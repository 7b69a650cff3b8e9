import Configuration
import HTTP
import Net
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite struct ProxySettingsTests {
    private func devices(_ lines: String) throws -> DeviceSettings {
        try read(minimal + "devices: { \(lines) }\n").devices
    }

    @Test("trusted_proxies are address ranges, by default none")
    func good() throws {
        #expect(try devices("").proxies == ProxyTrust.Rules())
        #expect(try devices("trusted_proxies: []").proxies == ProxyTrust.Rules())
        let read = try devices(
            #"trusted_proxies: [10.0.0.0/8, "2001:db8::7"], proxy_protocol: true"#
        )
        #expect(read.proxies.speaksProxy)
        #expect(
            read.proxies.ranges == [
                try AddressRange(parsing: "10.0.0.0/8"), try AddressRange(parsing: "2001:db8::7"),
            ]
        )
    }

    @Test(
        "Mistakes are told with their remedy",
        arguments: [
            ("proxy_protocol: true", "devices.proxy_protocol: wants trusted_proxies"),
            (
                "proxy_protocol: true, trusted_proxies: []",
                "devices.proxy_protocol: wants trusted_proxies"
            ),
            (
                "trusted_proxies: [10.0.0.1/8]",
                #"devices.trusted_proxies: "10.0.0.1/8" has bits beyond its prefix; write 10.0.0.0/8"#
            ),
            ("trusted_proxies: lb.example.com", "write one such as 10.0.0.0/8"),
            ("proxy_protocol: yes please", "is neither true nor false"),
        ]
    )
    func bad(lines: String, problem: String) throws {
        let told = problems(minimal + "devices: { \(lines) }\n")
        #expect(told.contains { $0.contains(problem) }, "\(told)")
    }

    @Test("A reload changes the trusted proxies of both listeners")
    func reloaded() throws {
        let trial = try SandboxedGateway {
            $0.tls = .tried()
            $0.devices.proxies.ranges = [AddressRange(IPAddress(v4: 0x7F00_0001), bits: 128)]
            $0.devices.proxies.speaksProxy = true
        }
        #expect(try trial.devices.get("/healthz").status == 503)
        let spoken = "PROXY TCP4 192.0.2.7 127.0.0.1 1 1\r\nGET /healthz HTTP/1.1\r\nhost: h\r\n"
        let request = Array((spoken + "connection: close\r\n\r\n").utf8)
        #expect(try trial.devices.exchange(request).status == 200)
        #expect(throws: (any Error).self) { try trial.secure().get("/healthz") }
        trial.gateway.reload { $0.devices.proxies.speaksProxy = false }
        #expect(try trial.devices.get("/healthz").status == 200)
        #expect(try trial.secure().get("/healthz").status == 200)
        let metrics = trial.gateway.report.metrics
        #expect(
            metrics.contains(
                "sluice_http_connections_refused_total{listener=\"devices\",reason=\"proxy_header\"} 1\n"
            )
        )
    }
}

import Configuration
import Crypto
import Queue
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// One device key against another, through the whole gateway.
@Suite(.timeLimit(.minutes(2))) struct ShareTests {
    private static let (web, phone) = ("web-0123456789abcdef", "phone-0123456789abcdef")

    private func trial(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void
    ) throws -> SandboxedGateway {
        try SandboxedGateway { configuration in
            configuration.devices.keys = [
                DeviceKey(name: "web", secret: Secret(Self.web)),
                DeviceKey(name: "phone", secret: Secret(Self.phone)),
            ]
            change(&configuration)
        }
    }

    /// A push of so many label sets that no other one has.
    private func push(_ number: Int, labelSets: Int, _ key: String, _ trial: SandboxedGateway)
        throws
        -> TestAnswer
    {
        let streams = (0..<labelSets).map { place in
            #"{"stream":{"job":"j","id":"\#(key)-\#(number)-\#(place)"},"values":[["1800000000000000000","x"]]}"#
        }
        let body = #"{"streams":[\#(streams.joined(separator: ","))]}"#
        return try trial.devices.post(
            "/loki/api/v1/push",
            body.utf8,
            ["x-sluice-key": key, "content-type": "application/json"]
        )
    }

    @Test("A public key that invents labels is refused; another key is served")
    func streams() throws {
        let trial = try trial { $0.queue.streamsMax = 1000 }
        _ = try TestClient(address: trial.sandbox.address)
            .post("/faults", #"{"status":503,"code":"ServerBusy"}"#.utf8)
        var refused: TestAnswer?
        for number in 0..<100 where refused == nil {
            let answer = try push(number, labelSets: 128, Self.web, trial)
            if answer.status >= 300 { refused = answer }
        }
        let answer = try #require(refused)
        #expect(answer.status == 503 && answer["retry-after"] != nil)
        #expect(answer.text.contains("this device key has its share"), "\(answer.text)")
        #expect((256...500).contains(trial.gateway.report.queue.streams))
        for number in 0..<2 {
            #expect(try push(number, labelSets: 100, Self.phone, trial).status < 300)
        }
        let metrics = try trial.admin("/metrics").text
        #expect(metrics.contains(#"sluice_queue_streams_refused_total{share="key"} 1"#))
    }

    @Test("A public key with a new stream for each request displaces no other key's logs")
    func repeats() throws {
        let trial = try trial { $0.devices.duplicates.max = 50 }
        func send(_ name: String, _ key: String) throws -> String {
            let answer = try trial.devices.post(
                "/logs/app",
                #"{"a":1}"#.utf8,
                ["x-sluice-key": key, "idempotency-key": name]
            )
            #expect(answer.status == 200)
            return answer["x-log-requestid"] ?? ""
        }
        let receipts = try (0..<10).map { try send("batch-\($0)", Self.phone) }
        for number in 0..<200 { _ = try send("fresh-\(number)", Self.web) }
        for number in 0..<10 {
            #expect(try send("batch-\(number)", Self.phone) == receipts[number])
        }
    }
}

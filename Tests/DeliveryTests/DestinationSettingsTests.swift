import SLS
import System
import Testing

@testable import Delivery

@Suite struct DestinationSettingsTests {
    @Test("Settings that work have no problems")
    func fine() throws {
        #expect(try Samples.destination(port: 80).problems.isEmpty)
    }

    @Test("All problems are told at once, each with its setting")
    func problems() throws {
        var settings = try Samples.destination(port: 80)
        settings.sls.project = "My Project"
        settings.sls.region = nil
        settings.concurrency = 0
        settings.transport.connectTimeout = .zero
        settings.transport.sendTimeout = .seconds(7200)
        #expect(
            settings.problems.map(\.setting)
                == [
                    "project", "region", "concurrency", "connect_timeout", "send_timeout",
                ]
        )
        let error = #expect(throws: DeliveryError.self) {
            try Forwarder(
                [settings],
                source: MemorySource(),
                credentials: { _ in nil },
                journal: .silent
            )
        }
        #expect(error?.description.contains("destination app: the project name") == true)
    }

    @Test("Settings far out of their bounds are told too, not trapped on")
    func extremes() throws {
        var settings = try Samples.destination(port: 80)
        settings.concurrency = .max
        settings.transport.stallTimeout = .seconds(-1)
        #expect(
            settings.problems.map(\.setting) == [
                "concurrency", "stall_timeout",
            ]
        )
    }

    @Test("A list of endpoints has one to eight, each once")
    func endpoints() throws {
        var settings = try Samples.destination(port: 80)
        settings.sls.endpoints = try (1...8).map { try Endpoint(parsing: "http://127.0.0.1:\($0)") }
        #expect(settings.problems.isEmpty)
        settings.sls.endpoints.append(try Endpoint(parsing: "http://127.0.0.1:8"))
        #expect(settings.problems.map(\.setting) == ["endpoints", "endpoints"])
        settings.sls.endpoints = []
        #expect(settings.problems.map(\.setting) == ["endpoints"])
        settings = try Samples.destination(port: 80)
        settings.clockOffset = .seconds(-400_000_000)
        #expect(settings.problems.map(\.setting) == ["clock_offset"])
    }

    @Test(
        "A request's time grows with its body",
        arguments: [(0, 15), (512 << 10, 47), (1 << 20, 79), (10 << 20, 655)]
    )
    func timeLimit(bytes: Int, seconds: Int) throws {
        let settings = try Samples.destination(port: 80)
        #expect(settings.transport.timeLimit(bodyBytes: bytes) == .seconds(seconds))
    }

    @Test("Two destinations need two names")
    func names() throws {
        let settings = try Samples.destination(port: 80)
        #expect(throws: DeliveryError.self) {
            try Forwarder(
                [settings, settings],
                source: MemorySource(),
                credentials: { _ in nil },
                journal: .silent
            )
        }
    }
}

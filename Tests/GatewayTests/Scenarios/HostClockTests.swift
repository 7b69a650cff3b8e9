import Delivery
import Queue
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// A gateway whose host has a wrong clock, so that SLS takes none of the times that it gives.
@Suite(.timeLimit(.minutes(1))) struct HostClockTests {
    @Test("Logs without a time wait until the clock is set, and status and metrics show it")
    func waiting() throws {
        let trial = try SandboxedGateway()
        let sandbox = TestClient(address: trial.sandbox.address)
        #expect(try sandbox.post("/faults", #"{"clock_offset_s":-3600}"#.utf8).status < 300)
        for number in 0..<5 {
            let body = #"{"n":"\#(number)-a"}"# + "\n" + #"{"n":"\#(number)-b"}"#
            #expect(try trial.devices.post("/logs/clock", body.utf8).status == 200)
        }
        #expect(eventually { trial.gateway.report.destinations[0].delivery.awaitingClock > 0 })
        let status = try trial.admin("/admin/status").text
        #expect(status.contains(#""awaiting_clock":"#), "\(status)")
        #expect(status.contains("the clock of this host is 3"), "\(status)")
        #expect(status.contains("set it (NTP)"), "\(status)")
        let metrics = try trial.admin("/metrics").text
        #expect(metrics.contains(#"sluice_delivery_awaiting_clock{destination="default"}"#))
        #expect(trial.gateway.report.queue.ledger.dead == 0)

        _ = try sandbox.send("DELETE", "/faults")
        #expect(trial.delivered(10))
        #expect(eventually { trial.gateway.report.destinations[0].delivery.awaitingClock == 0 })
        #expect(trial.gateway.report.queue.ledger.dead == 0)
        #expect(trial.gateway.report.queue.ledger.isClosed)
    }
}

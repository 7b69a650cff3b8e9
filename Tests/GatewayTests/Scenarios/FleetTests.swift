import Configuration
import Delivery
import Queue
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Small senders with tags of their own, which would each need packets of their own.
@Suite(.timeLimit(.minutes(5))) struct FleetTests {
    private let memoryMax = 150 << 20

    @Test("Devices above the stream limit get 503; other devices are served")
    func bounded() throws {
        let trial = try SandboxedGateway { $0.queue.streamsMax = 50 }
        let sandbox = TestClient(address: trial.sandbox.address)
        let fault = #"{"status":503,"code":"ServerBusy"}"#
        #expect(try sandbox.post("/faults", fault.utf8).status < 300)
        func send(_ device: Int, _ number: Int) throws -> TestAnswer {
            let body =
                #"{"__topic__":"app","__source__":"iOS","__logs__":[{"number":"\#(device)-\#(number)"}],"#
                + #""__tags__":{"device_id":"device-\#(device)"}}"#
            return try trial.devices.post("/logstores/fleet/track", body.utf8)
        }
        for device in 0..<50 { #expect(try send(device, 0).status == 200) }
        for device in 50..<60 {
            let answer = try send(device, 0)
            // What makes the SDKs keep the logs and try again.
            #expect(answer.status == 503)
            #expect(answer.text.contains(#""errorCode":"ServerBusy""#), "\(answer.text)")
            #expect(answer.body.count <= 255)
        }
        for device in 0..<50 { #expect(try send(device, 1).status == 200) }
        #expect(trial.gateway.report.queue.streams == 50)

        _ = try sandbox.send("DELETE", "/faults")
        #expect(trial.delivered(100))
        #expect(eventually { trial.gateway.report.queue.streams == 0 })
        for device in 50..<60 { #expect(try send(device, 0).status == 200) }
        #expect(trial.delivered(110))
        #expect(trial.gateway.report.queue.ledger.isClosed)
        let numbers = try DeviceFleet.numbers(at: sandbox, in: "fleet")
        #expect(Set(numbers).count == 110 && numbers.count == 110)
    }

    @Test("With folded tags 20,000 devices share packets")
    func folded() throws {
        let trial = try SandboxedGateway {
            $0.destinations[0].intake.foldTags = .all
            $0.destinations[0].transfer.packet.age = .seconds(1)
        }
        let before = ProcessFigures.now.residentBytes
        let fleet = DeviceFleet(client: trial.devices, devices: 20_000, logsEach: 5)
        #expect(try fleet.send(to: "fleet") == 20_000)
        #expect(trial.gateway.report.queue.streams <= 1)
        #expect(trial.delivered(100_000, within: .seconds(120)))

        let report = trial.gateway.report
        let delivery = report.destinations[0].delivery
        #expect(delivery.sentLogs == 100_000)
        #expect(delivery.sentLogs / delivery.sentPackets > 500)
        #expect(ProcessFigures.now.residentBytes - before < memoryMax)
        #expect(report.queue.ledger.isClosed)

        let sandbox = TestClient(address: trial.sandbox.address)
        let numbers = try DeviceFleet.numbers(at: sandbox, in: "fleet")
        #expect(numbers.count == 100_000)
        #expect(Set(numbers).count == 100_000)
        let log = try sandbox.get("/logs?logstore=fleet&contains=device-19999&limit=1").text
        #expect(log.contains(#""__tag__:device_id":"device-19999""#), "\(log)")
    }

    @Test(
        "A fleet that keeps its tags has a stream and a packet for each device, and no stream stays"
    )
    func unfolded() throws {
        let trial = try SandboxedGateway()
        let before = ProcessFigures.now.residentBytes
        let fleet = DeviceFleet(client: trial.devices, devices: 5000, logsEach: 1)
        #expect(try fleet.send(to: "fleet") == 5000)
        #expect(trial.delivered(5000, within: .seconds(120)))
        #expect(eventually { trial.gateway.report.queue.streams == 0 })
        let report = trial.gateway.report
        #expect(report.destinations[0].delivery.sentPackets == 5000)
        #expect(report.queue.bytes == 0)
        #expect(ProcessFigures.now.residentBytes - before < memoryMax)
        let numbers = try DeviceFleet.numbers(
            at: TestClient(address: trial.sandbox.address),
            in: "fleet"
        )
        #expect(numbers.count == 5000)
        #expect(Set(numbers).count == 5000)
    }
}

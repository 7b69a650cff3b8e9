import System
import TestSupport
import Testing

@testable import Delivery

@Suite struct FailureNoticesTests {
    let start = Moment(nanoseconds: 0)

    @Test("The first failure of a kind is told, repeats once a minute with their number")
    func repeats() {
        var notices = FailureNotices()
        #expect(notices.failed(.network, start) == 0)
        #expect(notices.failed(.network, start + .seconds(1)) == nil)
        #expect(notices.failed(.quota, start + .seconds(2)) == 0)
        #expect(notices.failed(.network, start + .seconds(59)) == nil)
        #expect(notices.failed(.network, start + .seconds(60)) == 2)
        #expect(notices.failed(.network, start + .seconds(61)) == nil)
    }

    @Test("A recovery is told when the failure was, and once")
    func recovery() {
        var notices = FailureNotices()
        #expect(notices.succeeded() == false)
        _ = notices.failed(.network, start)
        #expect(notices.succeeded() == true)
        #expect(notices.succeeded() == false)
        // Up and down within a minute stays quiet.
        #expect(notices.failed(.network, start + .seconds(1)) == nil)
        #expect(notices.succeeded() == false)
    }
}

@Suite struct EndpointNoticesTests {
    @Test("Four lines a minute, and the next one tells how many were passed over")
    func bounded() {
        var notices = EndpointNotices()
        let start = Moment(nanoseconds: 0)
        for _ in 0..<4 { #expect(notices.happened(start) == 0) }
        for _ in 0..<100 { #expect(notices.happened(start + .seconds(59)) == nil) }
        #expect(notices.happened(start + .seconds(60)) == 100)
        #expect(notices.happened(start + .seconds(60)) == 0)
    }

    @Test("Other endpoints in the settings have lines of their own")
    func moved() throws {
        let settings = try Samples.destination(port: 1)
        let recorder = JournalRecorder()
        let status = StatusPublisher(Locked(DestinationStatus(settings)))
        let reporter = DeliveryReporter("app", recorder.journal, status)
        let shared = DeliveryThreadState(memoryMax: 64 << 20, BodyEncoders {})
        let entry = shared.agenda.join()
        let gates = GateKeeper(
            settings,
            shared,
            entry,
            outlets: OutletRegistry(entry),
            reporter: reporter
        )
        func flap() {
            let change = EndpointChoice.Switch(from: 0, to: 0, reason: .answered)
            reporter.switched(change, among: gates.endpoints.endpoints, because: nil, .now)
        }
        for _ in 0..<10 { flap() }
        #expect(recorder.count(of: "destination has found an endpoint") == 4)
        gates.replaceSettings(settings, with: settings, .now)
        flap()
        #expect(recorder.count(of: "destination has found an endpoint") == 4)
        gates.replaceSettings(settings, with: try Samples.destination(port: 2), .now)
        flap()
        #expect(recorder.count(of: "destination has found an endpoint") == 5)
        #expect(recorder.lines.now.last?.contains(#""passed_over":0"#) == true)
    }
}

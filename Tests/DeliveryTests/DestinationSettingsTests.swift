import SLS
import System
import Testing

@testable import Delivery

@Suite struct DestinationSettingsTests {
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

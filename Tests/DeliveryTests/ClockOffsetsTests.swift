import System
import Testing

@testable import Delivery

@Suite struct ClockOffsetsTests {
    private let lead = Locked<Duration>(.zero)
    private let offsets: ClockOffsets

    init() {
        let lead = lead
        offsets = ClockOffsets(lead: {
            let (seconds, attoseconds) = lead.withLock { $0 }.components
            return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        })
    }

    /// Somebody sets the host's clock forward by that much.
    private func setHost(by step: Duration) { lead.withLock { $0 += step } }

    @Test("An offset belongs to one destination, and can be removed")
    func own() {
        #expect(offsets.offset(for: "app") == .zero)
        offsets.set(.seconds(3600), for: "app")
        #expect(offsets.offset(for: "app") == .seconds(3600))
        #expect(offsets.offset(for: "web") == .zero)
        offsets.set(nil, for: "app")
        #expect(offsets.offset(for: "app") == .zero)
    }

    @Test(
        "A host whose clock was set right is right at once, before SLS has said so",
        arguments: [1, -1]
    )
    func setRight(sign: Int) {
        offsets.set(.seconds(sign * 18_000), for: "app")
        setHost(by: .seconds(sign * 18_000))
        #expect(offsets.offset(for: "app") == .zero)
        // Nearly right is right: what is left is not noticed.
        setHost(by: .seconds(59))
        #expect(offsets.offset(for: "app") == .zero)
    }

    @Test("Set by half of it, the other half is left; set the wrong way, it is more")
    func setInPart() {
        offsets.set(.seconds(7200), for: "app")
        setHost(by: .seconds(3600))
        #expect(offsets.offset(for: "app") == .seconds(3600))
        setHost(by: .seconds(-7200))
        #expect(offsets.offset(for: "app") == .seconds(10_800))
    }

    @Test("A clock that only drifts keeps its learned offset")
    func drift() {
        offsets.set(.seconds(300), for: "app")
        setHost(by: .seconds(60))
        #expect(offsets.offset(for: "app") == .seconds(300))
    }

    @Test("An offset that is learned after the clock was set counts from there")
    func learnedAgain() {
        offsets.set(.seconds(7200), for: "app")
        setHost(by: .seconds(3600))
        offsets.set(.seconds(3600), for: "app")
        #expect(offsets.offset(for: "app") == .seconds(3600))
        setHost(by: .seconds(3600))
        #expect(offsets.offset(for: "app") == .zero)
    }
}

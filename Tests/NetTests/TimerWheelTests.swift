import System
import TestSupport
import Testing

@testable import Net

@Suite struct TimerWheelTests {
    private static let start = Moment(nanoseconds: 5_000_000_123)

    private func after(_ milliseconds: Int64) -> Moment {
        Self.start + .milliseconds(milliseconds)
    }

    private func due(_ wheel: inout TimerWheel, at milliseconds: Int64) -> Set<Int> {
        var due: [Int] = []
        wheel.takeDue(at: after(milliseconds), into: &due)
        #expect(Set(due).count == due.count)
        return Set(due)
    }

    @Test("A timer fires once, at most a tick after its deadline and not before it")
    func fires() {
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(8), buckets: 16)
        wheel.arm(3, at: after(100))
        #expect(due(&wheel, at: 99).isEmpty)
        #expect(due(&wheel, at: 109) == [3])
        #expect(due(&wheel, at: 1000).isEmpty)
        #expect(!wheel.isArmed(3))
        #expect(wheel.nearest == nil)
    }

    @Test("A disarmed timer never fires, and a second arm replaces the deadline")
    func disarm() {
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(8), buckets: 16)
        wheel.arm(1, at: after(50))
        wheel.arm(2, at: after(50))
        wheel.arm(3, at: after(50))
        wheel.disarm(2)
        wheel.arm(3, at: after(500))
        #expect(due(&wheel, at: 60) == [1])
        #expect(due(&wheel, at: 400).isEmpty)
        #expect(due(&wheel, at: 510) == [3])
    }

    @Test("A deadline beyond one turn of the wheel fires in its own turn")
    func manyTurns() {
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(1), buckets: 8)
        wheel.arm(1, at: after(100))
        wheel.arm(2, at: after(4))
        for time in stride(from: Int64(1), through: 99, by: 1) {
            #expect(due(&wheel, at: time) == (time == 5 ? [2] : []))
        }
        #expect(due(&wheel, at: 101) == [1])
    }

    @Test("A deadline in the past fires at the next look")
    func past() {
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(8), buckets: 16)
        _ = due(&wheel, at: 1000)
        wheel.arm(1, at: after(10))
        let nearest = wheel.nearest
        #expect(nearest.map { $0 <= after(1016) } == true)
        #expect(due(&wheel, at: 1016) == [1])
    }

    @Test(
        "The nearest deadline is never later than any armed one, and looking at it makes progress"
    )
    func nearest() {
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(8), buckets: 16)
        wheel.arm(1, at: after(40))
        wheel.arm(2, at: after(400))
        wheel.disarm(1)
        var looks = 0
        var fired: [Int] = []
        while fired.isEmpty, looks < 10, let nearest = wheel.nearest {
            wheel.takeDue(at: nearest, into: &fired)
            looks += 1
        }
        #expect(fired == [2])
        #expect(looks <= 2)
    }

    @Test(
        "The wheel agrees with a sorted list over many random steps",
        arguments: 0..<20 as Range<UInt64>
    )
    func agreesWithModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var wheel = TimerWheel(now: Self.start, tick: .milliseconds(2), buckets: 32)
        var model: [Int: Moment] = [:]
        var now = Self.start
        for _ in 0..<3000 {
            let slot = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let deadline =
                    now + .microseconds(Int64.random(in: -1000..<300_000, using: &random))
                wheel.arm(slot, at: deadline)
                model[slot] = deadline
            case 2:
                wheel.disarm(slot)
                model[slot] = nil
            default:
                now = now + .microseconds(Int64.random(in: 0..<40_000, using: &random))
                var due: [Int] = []
                wheel.takeDue(at: now, into: &due)
                for slot in due {
                    #expect(model[slot].map { $0 <= now } == true)
                    model[slot] = nil
                }
                #expect(!model.values.contains { $0 + .milliseconds(4) < now })
                for (slot, deadline) in model {
                    #expect(wheel.isArmed(slot))
                    let latest = max(deadline, now) + .milliseconds(4)
                    #expect(wheel.nearest.map { $0 <= latest } == true)
                }
            }
        }
    }
}

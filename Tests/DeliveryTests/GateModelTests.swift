import System
import Testing

@testable import Delivery
@testable import Sandbox

/// Whatever happens in whatever order: places are counted right, and a gate opens again.
@Suite struct GateModelTests {
    struct World {
        var gate = Gate(most: 8)
        var random: SeededRandom
        var now = Moment(nanoseconds: 1_000_000_000_000)
        var flying: [Gate.Pass] = []

        mutating func step() {
            switch random.next() % 20 {
            case 0...7: if gate.permits(now) { flying.append(gate.enter(now, bytes: 100_000)) }
            case 8...14: answer()
            case 15: now = gate.nextOpening.map { max($0, now) } ?? now
            case 16: gate.reopen(now)
            case 17: gate.hold(until: now + .seconds(Int(random.next() % 900)), now)
            default: now = now + .milliseconds(Int(random.next() % 2000))
            }
        }

        mutating func answer() {
            guard !flying.isEmpty else { return }
            let pass = flying.remove(at: Int(random.next() % UInt64(flying.count)))
            let verdicts: [Gate.Verdict] = [
                .stored, .stored, .stored, .reached, .failed, .failed, .overQuota(.requests),
                .overQuota(.bytes), .overQuota(.unknown), .forbidden, .suspended, .none,
            ]
            _ = gate.leave(
                pass,
                verdicts[Int(random.next() % UInt64(verdicts.count))],
                retryAfter: random.next() % 10 == 0 ? .seconds(Int(random.next() % 3600)) : nil,
                now,
                random: random.fraction()
            )
        }

        /// Everything comes back, and from now on everything is stored.
        mutating func recover() -> Bool {
            while let pass = flying.popLast() {
                _ = gate.leave(pass, .none, now, random: random.fraction())
            }
            for _ in 1...200 {
                guard let next = gate.nextOpening else { return false }
                now = max(now, next)
                _ = gate.leave(gate.enter(now, bytes: 1000), .stored, now, random: 0.5)
            }
            return gate.probing == nil && gate.limit == 8
        }
    }

    @Test(
        "Bounds hold at every step, and it always recovers",
        arguments: 1...50 as ClosedRange<UInt64>
    )
    func anything(seed: UInt64) {
        var world = World(random: SeededRandom(seed: seed))
        for _ in 1...500 {
            world.step()
            let gate = world.gate
            #expect(gate.inFlight == world.flying.count)
            #expect((1...8).contains(gate.limit))
            #expect(gate.inFlight <= 8 + 1)
            if let next = gate.nextOpening { #expect(next - world.now <= .seconds(601)) }
            #expect(gate.nextOpening != nil || gate.inFlight > 0, "nobody would ever open it")
        }
        let recovered = world.recover()
        #expect(recovered)
    }
}

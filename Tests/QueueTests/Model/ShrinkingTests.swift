import Queue
import Testing

@testable import SQLiteQueue

@Suite struct ShrinkingTests {
    @Test("Of many values those are left that it takes, each as simple as can be")
    func smallest() {
        var runs = 0
        var shrinking = Shrinking<Int>(simpler: { $0 > 0 ? [0, $0 / 2, $0 - 1] : [] }) { values in
            runs += 1
            guard let first = values.firstIndex(where: { $0 >= 40 }) else { return false }
            return values[(first + 1)...].contains { $0 >= 7 }
        }
        #expect(shrinking.smallest(of: Array(0..<100)) == [40, 7])
        #expect(runs < 200)
    }

    @Test("Shrinking ends after its attempts, with values that still fail")
    func bounded() {
        var shrinking = Shrinking<Int>(simpler: { [$0 + 1] }, fails: { !$0.isEmpty })
        shrinking.attempts = 50
        #expect(!shrinking.smallest(of: [1, 2, 3]).isEmpty)
    }

    @Test("Operations and settings are printed as the code that makes them")
    func code() {
        let rules = Rules(lanes: 2, late: .deadLetter)
        #expect(
            Operation.apply(destination: 1, rules).code == """
                .apply(destination: 1, Rules(packetLogs: 20, packetBytes: 1048576, packetAge: 3600, \
                lanes: 2, fresh: 0, bytes: 0, dropsOldest: false, late: LatePolicy.deadLetter, \
                logstores: 100, age: 0))
                """
        )
        #expect(
            Operation.append([Load(stream: 3)]).code
                == ".append([Load(stream: 3, logs: 1, filling: 10, late: 0, dead: 0, dropped: 0, "
                + "isOptional: false)])"
        )
        #expect(Operation.ask(outlet: 1, count: 2).code == ".ask(outlet: 1, count: 2)")
        #expect(Operation.crash.code == ".crash")
    }

    @Test("Each operation is as simple as it gets after a bounded number of steps")
    func simplerEnds() {
        for seed in 0..<20 as Range<UInt64> {
            for operation in Scenario(seed: seed).operations {
                var steps = 0
                var operation = operation
                while let simpler = operation.simpler.last {
                    operation = simpler
                    steps += 1
                    guard steps < 20_000 else { break }
                }
                #expect(steps < 20_000)
            }
        }
    }

    @Test("The same seed makes the same scenario")
    func seeded() {
        #expect(Scenario(seed: 7) == Scenario(seed: 7) && Scenario(seed: 7) != Scenario(seed: 8))
    }
}

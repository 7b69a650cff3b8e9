import Queue
import Testing

@testable import SQLiteQueue

/// Makes a failing sequence small by delta debugging: leaves out ever smaller chunks, then single
/// values, then puts simpler ones in their place, until nothing of that fails any more.
struct Shrinking<Value> {
    let simpler: (Value) -> [Value]
    let fails: ([Value]) -> Bool
    /// Runs that may be tried.
    var attempts = 3000

    /// The values must fail.
    mutating func smallest(of values: [Value]) -> [Value] {
        var current = values
        var hasChanged = true
        while hasChanged, attempts > 0 {
            hasChanged = leaveOut(of: &current)
            hasChanged = simplify(&current) || hasChanged
        }
        return current
    }

    private mutating func stillFails(_ values: [Value]) -> Bool {
        attempts -= 1
        return attempts >= 0 && fails(values)
    }

    private mutating func leaveOut(of current: inout [Value]) -> Bool {
        let before = current.count
        var chunk = max(1, current.count / 2)
        while true {
            let atStart = current.count
            // From the end: what comes last depends on what came before it.
            var end = current.count
            while end > 0 {
                let start = max(0, end - chunk)
                var without = current
                without.removeSubrange(start..<end)
                if stillFails(without) { current = without }
                end = start
            }
            if chunk > 1 {
                chunk /= 2
            } else if current.count == atStart {
                return current.count < before
            }
        }
    }

    private mutating func simplify(_ current: inout [Value]) -> Bool {
        var hasChanged = false
        for index in current.indices {
            while let simpler = firstThatFails(in: current, at: index) {
                current[index] = simpler
                hasChanged = true
            }
        }
        return hasChanged
    }

    private mutating func firstThatFails(in current: [Value], at index: Int) -> Value? {
        for value in simpler(current[index]) {
            var changed = current
            changed[index] = value
            if stillFails(changed) { return value }
        }
        return nil
    }
}

extension Scenario {
    /// The smallest one found that fails in the same way: with the same words, whatever the
    /// numbers. It must fail.
    func shrunk() -> Scenario {
        guard let failure else { return self }
        var smallest = self
        // What is found later than it happens keeps operations that only take time.
        smallest.auditEvery = 1
        if smallest.failure?.words != failure.words { smallest = self }
        smallest.shrinkOperations(failure.words)
        // Fewer of them may be needed once the settings are plain.
        smallest.shrinkSettings(failure.words)
        smallest.shrinkOperations(failure.words)
        return smallest
    }

    private mutating func shrinkOperations(_ words: String) {
        var shrinking = Shrinking<Operation>(simpler: \.simpler) { [self] operations in
            var tried = self
            tried.operations = operations
            return tried.failure?.words == words
        }
        operations = shrinking.smallest(of: operations)
    }

    private mutating func shrinkSettings(_ words: String) {
        var shrinking = Shrinking<Settings>(simpler: \.simpler) { [self] settings in
            guard settings.count == 1 else { return false }
            var tried = self
            tried.settings = settings[0]
            return tried.failure?.words == words
        }
        settings = shrinking.smallest(of: [settings])[0]
    }
}

extension String {
    /// Before the place where it happened.
    fileprivate var words: String {
        let end = indices.first { self[$0...].hasPrefix(" (at ") } ?? endIndex
        return self[..<end].filter(\.isLetter)
    }
}

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

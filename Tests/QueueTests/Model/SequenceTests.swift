import Glibc
import Queue
import Testing

@testable import SQLiteQueue

/// Random sequences of everything that can happen to the queue, next to a model that is too simple
/// to be wrong. One that fails is shrunk, and printed as a test.
///
/// `SLUICE_MODEL_SEQUENCES` asks for more, `SLUICE_MODEL_SEED` begins elsewhere; alone it repeats
/// one sequence.
@Suite(.timeLimit(.minutes(60))) struct SequenceTests {
    private static let first = number("SLUICE_MODEL_SEED")
    private static let count =
        number("SLUICE_MODEL_SEQUENCES") ?? (first == nil ? 160 : 1)
    private static let parts: UInt64 = 8

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    @Test("Every log is in one place, whole, in order and counted", arguments: 0..<parts)
    func sequences(part: UInt64) {
        expectNoFailure(part, filter: "SequenceTests/sequences") { $0 }
    }

    @Test(
        "The same holds with a commit log, from which each life is restored",
        arguments: 0..<parts
    )
    func sequencesWithLog(part: UInt64) {
        expectNoFailure(part, filter: "SequenceTests/sequencesWithLog", \.withCommitLog)
    }

    private func expectNoFailure(
        _ part: UInt64,
        filter: String,
        _ change: (Scenario) -> Scenario
    ) {
        let first = Self.first ?? 1
        for seed in first..<first + Self.count where seed % Self.parts == part {
            let scenario = change(Scenario(seed: seed))
            guard let failure = scenario.failure else { continue }
            let smallest = scenario.shrunk()
            Issue.record(
                """
                seed \(seed), \(scenario.operations.count) operations: \(failure)
                again: SWIFT_DETERMINISTIC_HASHING=1 SLUICE_MODEL_SEED=\(seed) swift test --filter \(filter)
                shrunk to \(smallest.operations.count): \(smallest.failure ?? "")
                \(smallest.code)
                """
            )
            return
        }
    }
}

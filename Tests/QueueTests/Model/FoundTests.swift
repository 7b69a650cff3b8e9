import Glibc
import Queue
import Testing

@testable import SQLiteQueue

/// What random sequences found, as they were shrunk.
@Suite struct FoundTests {
    @Test("A batch that becomes many rows stays within the bound, with all that rows cost")
    func manyRows() throws {
        try Scenario(
            settings: Settings(rules: [Rules(packetLogs: 1, bytes: 8317), Rules()]),
            operations: [
                .append([Load(stream: 0, logs: 21, filling: 45)]),
                .append([Load(stream: 2, logs: 19, filling: 12, late: 2)]),
            ]
        ).run()
    }

    @Test("An edit that met a failing disk is answered, however soon the disk is well again")
    func failedEdit() throws {
        try Scenario(
            operations: [
                .append([Load(stream: 0, logs: 0, dead: 1)]),
                .fail(after: 0),
                .edit(letter: 0, filling: 0),
            ]
        ).run()
    }

    @Test("What failed is tried again as soon as the queue is open, not with the next request")
    func failedTwice() throws {
        try Scenario(
            settings: Settings(rules: [Rules(), Rules(packetLogs: 20, packetBytes: 988)]),
            operations: [
                .append([Load(stream: 1, logs: 4, filling: 214)]),
                .ask(outlet: 1, count: 1),
                .append([Load(stream: 0, logs: 1)]),
                .fail(after: 0),
                .fail(after: 3),
                .acknowledge(0),
            ]
        ).run()
    }

    @Test("A refused packet that is all of a destination is taken apart beyond the bound")
    func refusedAndFull() throws {
        try Scenario(
            settings: Settings(rules: [Rules(), Rules(packetLogs: 38)]),
            operations: [
                .append([
                    Load(stream: 1, logs: 22, filling: 268), Load(stream: 1, logs: 5, filling: 7),
                ]),
                .ask(outlet: 1, count: 1),
                .apply(destination: 1, Rules(bytes: 7079, dropsOldest: true)),
                .refuse(0),
            ]
        ).run()
    }

    @Test("Logs of a packet that a salvage took apart make room for new ones")
    func takenApartAndDropped() throws {
        try Scenario(
            settings: Settings(
                rowBytes: 100,
                rules: [Rules(packetLogs: 20, bytes: 19087, dropsOldest: true), Rules()]
            ),
            operations: [
                .append([
                    Load(stream: 0, logs: 5, filling: 3), Load(stream: 6, logs: 4, filling: 196),
                ]),
                .append([
                    Load(stream: 0, logs: 2, filling: 39), Load(stream: 0, logs: 6, filling: 28),
                ]),
                .ask(outlet: 0, count: 2),
                .flush(destination: 0),
                .append([Load(stream: 0, logs: 4, filling: 207)]),
                .damage(log: 0),
                .salvage,
                .append([
                    Load(stream: 0, logs: 5, filling: 224), Load(stream: 0, logs: 6, filling: 38),
                ]),
                .append([Load(stream: 0, logs: 16, filling: 375)]),
            ]
        ).run()
    }
}

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

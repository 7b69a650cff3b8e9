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
}

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

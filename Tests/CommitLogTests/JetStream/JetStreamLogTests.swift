import NATS
import System
import TestNATS
import TestSupport
import Testing

@testable import CommitLog

/// Three servers that sync before they confirm. Tests use clusters of Sluice of their own.
private let brokers = SharedBrokers()

private final class SharedBrokers: @unchecked Sendable {
    private let lock = Locked<Brokers?>(nil)

    func get() throws -> Brokers {
        try lock.withLock { brokers in
            if let brokers { return brokers }
            let started = try Brokers(3)
            brokers = started
            return started
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct JetStreamLogTests {
    let recorder = JournalRecorder()
    let client: NATSClient
    let settings: JetStreamSettings

    init() throws {
        let addresses = try brokers.get().addresses
        client = try NATSClient(
            NATSSettings(servers: addresses, name: "test"),
            journal: recorder.journal
        )
        try client.waitUntilConnected(atMost: .seconds(20))
        settings = JetStreamSettings(
            servers: addresses,
            cluster: "t\(UInt32.random(in: 1...UInt32.max))",
            node: "a"
        )
    }

    func log() throws -> JetStreamLog {
        let log = JetStreamLog(client, settings, queueBytes: 64 << 20, isSynced: true)
        try wait { () throws(CommitLogError) in try log.open() }
        return log
    }

    /// A cluster that has just started has no leader yet.
    func wait(_ body: () throws(CommitLogError) -> Void) throws {
        var problem: CommitLogError?
        let isDone = eventually(within: .seconds(30)) {
            do throws(CommitLogError) {
                try body()
                return true
            } catch {
                problem = error
                return error.kind == .refused
            }
        }
        if !isDone, let problem { throw problem }
    }

    func id(_ commit: UInt64, writer: UInt64 = 1) -> AppendID {
        AppendID(writer: writer, epoch: 1, commit: commit)
    }

    @Test("Appends are in the log in order, and are found again")
    func appends() throws {
        let log = try log()
        #expect(try log.read(from: 1, atMost: 4 << 20) == [])
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(log.append([[2], [3], [4]], after: 1, id: id(2)) == .appended(4))
        let entries = (1...4).map { NumberedEntry(number: $0, bytes: [UInt8($0)]) }
        #expect(try log.read(from: 1, atMost: 4 << 20) == entries)
        #expect(try log.read(from: 3, atMost: 1) == [entries[2]])
        #expect(try log.read(from: 3, atMost: 4 << 20) == Array(entries[2...]))
        #expect(try log.read(from: 5, atMost: 4 << 20) == [])
        #expect(try log.read(from: 5, atMost: 1) == [])
    }
}

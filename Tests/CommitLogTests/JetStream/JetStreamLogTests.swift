import NATS
import System
import TestNATS
import TestSupport
import Testing

@testable import CommitLog

/// The log in a stream of three real brokers.
@Suite(.timeLimit(.minutes(3))) final class JetStreamLogTests {
    let trial: JetStreamTrial

    init() throws {
        trial = JetStreamTrial(try sharedBrokers.get())
    }

    @Test("Appends are in the log in order, and are found again")
    func appends() throws {
        let log = try trial.log()
        #expect(try log.read(from: 1, atMost: 4 << 20) == [])
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(log.append([[2], [], [4]], after: 1, id: id(2)) == .appended(4))
        let entries = [[1], [2], [], [4]].enumerated().map { index, bytes in
            NumberedEntry(number: UInt64(index) + 1, bytes: bytes)
        }
        let others = try trial.log()
        for log in [log, others] {
            #expect(try log.read(from: 1, atMost: 4 << 20) == entries)
            #expect(try log.read(from: 3, atMost: 1) == [entries[2]])
            #expect(try log.read(from: 3, atMost: 4 << 20) == Array(entries[2...]))
            #expect(try log.read(from: 5, atMost: 4 << 20) == [])
            #expect(try log.read(from: 5, atMost: 1) == [])
        }
    }

    @Test("An append behind a newer entry is refused")
    func fence() throws {
        let (first, second) = (try trial.log(), try trial.log())
        #expect(first.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(second.append([[2]], after: 0, id: id(1, writer: 2)) == .fenced)
        #expect(second.append([[2], [3]], after: 0, id: id(1, writer: 2)) == .fenced)
        #expect(first.append([[4]], after: 5, id: id(2)) == .fenced)
        #expect(second.append([[5]], after: 1, id: id(2, writer: 2)) == .appended(2))
        #expect(first.append([[6], [7]], after: 1, id: id(2)) == .fenced)
        #expect(try trial.entries(of: first).map(\.bytes) == [[1], [5]])
    }

    @Test("Of rivals that append at the same moment, one is taken")
    func rivals() throws {
        let logs = try (0..<4).map { _ in try trial.log() }
        try raceRivals(logs, parts: 1)
        #expect(try trial.entries(of: logs[0]).count == 30)
    }

    @Test("The same append again is in the log once, also if only its first parts came through")
    func repetitions() throws {
        let log = try trial.log()
        for _ in 0..<2 { #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1)) }
        for _ in 0..<2 {
            #expect(log.append([[1], [2], [3]], after: 0, id: id(1)) == .appended(3))
        }
        // Another connection, as after an outage.
        #expect(try trial.log().append([[1], [2], [3]], after: 0, id: id(1)) == .appended(3))
        #expect(try trial.entries(of: log).map(\.bytes) == [[1], [2], [3]])
    }

    @Test("Large commits and many of them are read in pieces")
    func sizes() throws {
        let log = try trial.log()
        let part = [UInt8](repeating: 7, count: CommitWriter.partBytesMax + 48)
        let parts = (0..<12).map { index in [UInt8(index)] + part }
        #expect(log.append(parts, after: 0, id: id(1)) == .appended(12))
        for number in 13...60 as ClosedRange<UInt64> {
            #expect(log.append([[1]], after: number - 1, id: id(number)) == .appended(number))
        }
        let piece = try log.read(from: 1, atMost: 4 << 20)
        #expect((2...4).contains(piece.count))
        let entries = try trial.entries(of: log)
        #expect(entries.map(\.number) == Array(1...60))
        #expect(entries.prefix(12).map(\.bytes) == parts)
        // Elsewhere in the log, while a reader is in the middle.
        #expect(try log.read(from: 12, atMost: 4 << 20).first?.number == 12)
        #expect(try log.read(from: 2, atMost: 4 << 20).first?.number == 2)
    }

    @Test("A trimmed log begins with its first entry that is left")
    func trimming() throws {
        let log = try trial.log()
        for number in 1...9 as ClosedRange<UInt64> {
            #expect(log.append([[1]], after: number - 1, id: id(number)) == .appended(number))
        }
        for _ in 0..<2 { #expect(try log.trim(before: 6)) }
        for bytes in [1, 4 << 20] {
            let first = try log.read(from: 1, atMost: bytes).first
            #expect(first?.number == 6)
        }
        #expect(try log.trim(before: 10))
        #expect(log.append([[1]], after: 9, id: id(10)) == .appended(10))
        #expect(try trial.entries(of: log).map(\.number) == [10])
    }

    @Test("Much is trimmed in steps, between which the log takes appends")
    func manyBytes() throws {
        let log = try trial.log()
        let part = [UInt8](repeating: 7, count: CommitWriter.partBytesMax)
        var last: UInt64 = 0
        func append() {
            #expect(log.append([part], after: last, id: id(last + 1)) == .appended(last + 1))
            last += 1
        }
        for _ in 0..<40 { append() }
        var firsts: [UInt64] = []
        repeat {
            append()
            firsts.append(try #require(try log.read(from: 1, atMost: 1).first?.number))
        } while try !log.trim(before: 40)
        #expect(firsts.count > 1 && firsts == firsts.sorted())
        #expect(Set(firsts).count == firsts.count)
        #expect(try log.read(from: 1, atMost: 1).first?.number == 40)
    }

    @Test("A log without room says so, and takes appends again after a trim")
    func room() throws {
        let opened = try trial.log()
        let log = try trial.log(bytesMax: 4 << 20)
        withExtendedLifetime(opened) {}
        let part = [UInt8](repeating: 7, count: CommitWriter.partBytesMax)
        #expect(log.append([part, part, part, part], after: 0, id: id(1)) == .appended(4))
        guard case .noRoom(let text) = log.append([part], after: 4, id: id(2)) else {
            Issue.record("a full stream took an append")
            return
        }
        #expect(text.contains("maximum bytes exceeded"))
        #expect(try log.trim(before: 4))
        #expect(log.append([part], after: 4, id: id(2)) == .appended(5))
    }

    @Test("A stream that is deleted under the gateway is damage, not an empty log")
    func deletion() throws {
        let log = try trial.log()
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        let name = "SLUICE_\(trial.settings.cluster)_Q_a"
        _ = try trial.client().request("$JS.API.STREAM.DELETE.\(name)", timeout: .seconds(5))
        let answer = log.append([[2]], after: 1, id: id(2))
        guard case .unknown = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect {
            try log.read(from: 2, atMost: 1)
        } throws: { error in
            (error as? CommitLogError)?.kind == .damaged
                && "\(error)"
                    == "the stream \(name) is gone; restore it from a backup (nats stream restore)"
        }
    }

    @Test("The bound of an existing stream follows the settings")
    func updates() throws {
        _ = try trial.log()
        let log = try trial.log(queueBytes: 128 << 20)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        let info = try trial.client().request(
            "$JS.API.STREAM.INFO.SLUICE_\(trial.settings.cluster)_Q_a",
            timeout: .seconds(5)
        )
        let bytes = commitLogBytesMax(forQueueOf: 128 << 20)
        #expect(String(decoding: info.body, as: UTF8.self).contains("\"max_bytes\":\(bytes)"))
    }

    @Test("A stream with other settings under the same name is not used")
    func strangers() throws {
        let client = try trial.client()
        _ = try trial.log()
        trial.settings.node = "b"
        let name = "SLUICE_\(trial.settings.cluster)_Q_b"
        let body = "{\"name\":\"\(name)\",\"subjects\":[\"other.\(name)\"],\"num_replicas\":3}"
        _ = try client.request(
            "$JS.API.STREAM.CREATE.\(name)",
            Array(body.utf8),
            timeout: .seconds(5)
        )
        #expect { try trial.log() } throws: { error in
            (error as? CommitLogError)?.kind == .refused
                && "\(error)".hasPrefix(
                    "the setting subjects of the stream \(name) is not the one"
                )
        }
    }
}

import JSON
import NATS
import Testing

@testable import CommitLog

/// The log in a stream of three real brokers.
@Suite(.timeLimit(.minutes(10))) final class JetStreamLogTests {
    let trial: JetStreamTrial

    init() throws {
        trial = JetStreamTrial(try sharedBrokers.get())
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
        #expect(try log.entries().map(\.bytes) == [[1], [2], [3]])
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
        #expect(try log.entries().map(\.number) == [10])
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
        let log = try trial.log(bytesMax: 4 << 20)
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
        #expect(log.append([[2]], after: 1, id: id(2)).doubt != nil)
        #expect {
            try log.read(from: 2, atMost: 1)
        } throws: { error in
            (error as? CommitLogError)?.kind == .damaged
                && "\(error)"
                    == "the stream \(name) is gone; restore it from a backup (nats stream restore)"
        }
    }

    private func reserved() throws -> Int? {
        let info = try trial.client().request(
            "$JS.API.STREAM.INFO.SLUICE_\(trial.settings.cluster)_Q_a",
            timeout: .seconds(5)
        )
        return try JSONValue(parsing: info.body, depthMax: 16)["config"]?["max_bytes"]?.wholeNumber
    }

    @Test("What servers reserve for a log grows up to its bound, and another opener leaves it")
    func reservation() throws {
        _ = try trial.log()
        let (queueBytes, start) = (512 << 20, 1 << 30)
        let log = try trial.log(queueBytes: queueBytes)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(try reserved() == start && log.bytesMax == start)
        let wider = try #require(try log.makeRoom(for: 2 * start))
        #expect(wider > 2 * start && wider < 2 * start + 1000)
        // What was made before counts.
        #expect(try log.makeRoom(for: start) == wider)
        #expect(try reserved() == wider)
        // Another opener does not lower it, because the owner counts on it.
        #expect(try trial.log(queueBytes: queueBytes).bytesMax == wider)
        #expect(try log.makeRoom(for: 1 << 60) == commitLogBytesMax(forQueueOf: queueBytes))
        #expect(log.append([[2]], after: 1, id: id(2)) == .appended(2))
    }

    @Test("Servers without room for more say so, and the log goes on with what it has")
    func noReservation() throws {
        let log = try trial.log(queueBytes: 1 << 40)
        #expect {
            try log.makeRoom(for: 1 << 41)
        } throws: { error in
            (error as? CommitLogError)?.kind == .noRoom
                && "\(error)".contains("raise max_file_store")
        }
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
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

import CommitLog
import Foundation
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import SQLiteQueue

/// `sluice restore`: a shard's queue as a file.
@Suite struct RestoreCommandTests {
    private let log = MemoryCommitLog()
    private let scratch = TemporaryDirectory()

    private var file: String { scratch.path + "/restored.db" }
    private var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()) ?? []
    }

    private func queue() throws -> DurableQueue {
        var configuration = QueueConfiguration.small(scratch.path + "/gateway")
        configuration.commitLog = log
        return try DurableQueue(configuration, journal: .silent)
    }

    private func store(_ numbers: ClosedRange<Int>, in queue: DurableQueue) {
        #expect(queue.store(Batch(logs(numbers))) == .stored)
    }

    private func restore(acceptsPartial: Bool = false) throws -> RestoreCommand.Outcome {
        try RestoreCommand(log, of: "a~00000001", to: file).run(acceptsPartial: acceptsPartial)
    }

    @Test("The file has what the shard has, and its gateway goes on")
    func whole() throws {
        let gateway = try queue()
        store(1...10, in: gateway)
        let last = log.last
        let outcome = try restore()
        #expect(outcome.report.logs == 10 && outcome.report.isFine && outcome.damage == nil)
        #expect(log.last == last && outcome.lastEntry == last)
        store(11...20, in: gateway)
        gateway.close()
        // A gateway goes on with it.
        let directory = scratch.path + "/local"
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        try FileManager.default.moveItem(atPath: file, toPath: directory + "/queue.db")
        let local = try DurableQueue(.small(directory), journal: .silent)
        #expect(local.status.ledger.queued == 10)
        local.close()
        #expect(names == ["gateway", "local"])
    }

    @Test(
        "A file that is there is not overwritten, and a log without a base has nothing to restore"
    )
    func refusals() throws {
        #expect { _ = try restore() } throws: { "\($0)".contains("nothing to restore") }
        let gateway = try queue()
        _ = try restore()
        #expect { _ = try restore() } throws: { "\($0)".contains("is there already") }
        gateway.close()
        #expect(names == ["gateway", "restored.db"])
    }

    @Test("A hole is told with its entries, and what is whole before it is kept if that is wanted")
    func holes() throws {
        let gateway = try queue()
        store(1...10, in: gateway)
        let hole = log.last + 1
        store(11...20, in: gateway)
        store(21...30, in: gateway)
        gateway.close()
        log.damage { entries in entries.removeAll { $0.number == hole } }
        #expect { _ = try restore() } throws: { problem in
            let text = "\(problem)"
            return text.contains("entry \(hole + 1) follows entry \(hole - 1)")
                && text.contains("the shard a~00000001") && text.contains("--partial")
                && text.contains("up to entry \(hole - 1)")
        }
        #expect(names == ["gateway"])
        let outcome = try restore(acceptsPartial: true)
        #expect(outcome.report.logs == 10 && outcome.report.isFine)
        #expect(outcome.lastEntry == hole - 1)
        #expect(outcome.damage?.contains("entry \(hole + 1) follows") == true)
    }

    @Test("An entry that was changed is told, and without a whole base nothing can be kept")
    func damage() throws {
        let gateway = try queue()
        store(1...10, in: gateway)
        gateway.close()
        let number = log.entries[2].number
        log.damage { entries in
            var bytes = entries[2].bytes
            bytes[bytes.count - 1] ^= 1
            entries[2] = NumberedEntry(number: entries[2].number, bytes: bytes)
        }
        for acceptsPartial in [false, true] {
            #expect { _ = try restore(acceptsPartial: acceptsPartial) } throws: {
                "\($0)".contains("entry \(number):") && "\($0)".contains("no commit before it")
            }
        }
    }

    @Test("A log that is trimmed while it is read is read again")
    func trimmed() throws {
        let gateway = try queue()
        store(1...10, in: gateway)
        let trimming = TrimmingLog(log: log)
        gateway.close()
        let outcome = try RestoreCommand(trimming, of: "a~00000001", to: file).run()
        #expect(outcome.report.logs == 10)
        #expect(trimming.reads.now > 2)
    }
}

/// A log whose first read shows an older part that is gone with the next one.
private struct TrimmingLog: CommitLog {
    let log: MemoryCommitLog
    let reads = SharedValue(0)

    var name: String { log.name }

    func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer { .refused("a test reads") }

    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry] {
        let shift: UInt64 = 100
        reads.change { $0 += 1 }
        if reads.now == 1 {
            let entry = CommitEntry(.epoch, schema: 1, id: AppendID(writer: 1, epoch: 1, commit: 1))
            return [NumberedEntry(number: 1, bytes: entry.bytes)]
        }
        let first = number > shift ? number - shift : 1
        return try log.read(from: first, atMost: bytes).map {
            NumberedEntry(number: $0.number + shift, bytes: $0.bytes)
        }
    }

    func trim(before number: UInt64) -> Bool { true }
}

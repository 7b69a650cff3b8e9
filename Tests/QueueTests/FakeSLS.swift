import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Logs that SLS could read: each has a time and its number as a field.
func timed(_ numbers: some Sequence<Int>, at seconds: UInt32, filling: Int = 20) -> EncodedLogs {
    var logs = EncodedLogs()
    for number in numbers {
        let text = String(repeating: "x", count: filling)
        logs.append(
            time: LogTime(seconds: seconds),
            fields: [("number", "\(number)"), ("text", text)]
        )
    }
    return logs
}

/// The log's number, wherever it is kept.
func number(_ entry: LogEntry) throws -> Int {
    let field = try #require(entry.fields.first { $0.key == "number" })
    return try #require(Int(field.value))
}

func entries(_ blocks: [StoredBlock]) throws -> [LogEntry] {
    var found: [LogEntry] = []
    for block in blocks {
        let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        try raw.withUnsafeBytes { bytes in
            var walk = LogEntries(bytes)
            while let range = try walk.next() {
                found.append(try LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range])))
            }
        }
    }
    return found
}

extension DurableQueue {
    /// Returns when everything that was asked before is done and its packets are handed over. An
    /// answer is given before the packets of its turn, so the second one comes after them.
    func settle() {
        for _ in 0..<2 { _ = store() }
    }

    func change(
        _ begin: (@escaping @Sendable (DeadLetterChange) -> Void) -> Void
    ) -> DeadLetterChange {
        let answer = Awaited<DeadLetterChange>()
        begin { answer.put($0) }
        return answer.take(1)[0]
    }

    func replaying(_ selection: DeadLetterSelection) -> DeadLetterChange {
        change { change(.replay, selection, whenDone: $0) }
    }

    func purging(_ selection: DeadLetterSelection) -> DeadLetterChange {
        change { change(.purge, selection, whenDone: $0) }
    }

    func replacing(_ id: Int64, with edit: DeadLetterEdit) -> DeadLetterEditOutcome {
        let answer = Awaited<DeadLetterEditOutcome>()
        replace(id, with: edit) { answer.put($0) }
        return answer.take(1)[0]
    }

    /// All that match, page by page.
    func letters(_ filter: DeadLetterFilter = DeadLetterFilter()) throws -> [DeadLetter] {
        var found: [DeadLetter] = []
        var next: Int64? = 0
        while let id = next {
            let page = try deadLetters(matching: filter, after: id, limit: 7)
            found += page.letters
            next = page.next
        }
        return found
    }

    func deadNumbers(_ filter: DeadLetterFilter = DeadLetterFilter()) throws -> [Int] {
        try letters(filter).map { try number(#require($0.content)) }
    }
}

/// Takes packets as SLS does: refuses a whole one for a log in it that it does not take.
final class FakeSLS {
    let store: DurableQueue
    private let reason: DeathReason
    private let consumer: Consumer
    private let refuses: (LogEntry) -> Bool
    private var asked = 0
    private(set) var stored: [LogEntry] = []
    private(set) var requests = 0
    private(set) var refusals = 0
    /// What came under each.
    private var packs: [String: [Int]] = [:]

    static let reason = DeathReason(
        code: "PostBodyInvalid",
        message: "a log is bad",
        requestID: "5642FC2399248C8F7B0145FD",
        status: 400
    )

    init(
        _ store: DurableQueue,
        because reason: DeathReason = FakeSLS.reason,
        refuses: @escaping (LogEntry) -> Bool
    ) {
        self.store = store
        self.reason = reason
        self.refuses = refuses
        consumer = Consumer(store)
    }

    var numbers: [Int] { get throws { try stored.map(number) } }

    /// Sends one packet, if there is one. False when nothing came.
    func step() throws -> Bool {
        if asked == 0 {
            store.flush("app")
            store.request(1, for: "app")
            asked = 1
        }
        store.settle()
        guard consumer.waiting > 0 else { return false }
        let packet = consumer.next()[0]
        asked = 0
        requests += 1
        guard let blocks = try blocks(of: packet) else { return true }
        let logs = try entries(blocks)
        let numbers = try logs.map(number)
        let before = packs.updateValue(numbers, forKey: packet.packID)
        #expect(before == nil || before == numbers, "content changed under one pack id")
        #expect(logs.count == packet.logCount)
        if logs.contains(where: refuses) {
            refusals += 1
            store.end(packet, .isolate(reason))
        } else {
            stored += logs
            store.end(packet, .stored)
        }
        store.settle()
        return true
    }

    /// Nil when the queue took it back meanwhile, for its age perhaps.
    private func blocks(of packet: SealedPacket) throws -> [StoredBlock]? {
        do {
            return try store.blocks(of: packet)
        } catch let error where error.kind == .withdrawn {
            return nil
        }
    }

    /// Sends until nothing is queued.
    func run() throws {
        while store.status.ledger.queued > 0 { _ = try step() }
    }
}

import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct LateLogsTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)
    private var old: UInt32 { now - 8 * 86_400 }

    private func open(_ policy: LatePolicy, rowBytes: Int = 64 << 10) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.lateLogs = policy
        configuration.tuning.rowBytes = rowBytes
        return try directory.open(configuration)
    }

    /// Logs 0, 10, 20, … are too old, and so is 5 of the future.
    private func mixed() -> EncodedLogs {
        var logs = EncodedLogs()
        for number in 0..<50 {
            let seconds = number == 5 ? now + 3600 : number.isMultiple(of: 10) ? old : now
            let one = timed([number], at: seconds)
            logs.bytes += one.bytes
            logs.count += 1
        }
        return logs
    }

    private func isLate(_ log: LogEntry) -> Bool {
        log.time.seconds < now - 7 * 86_400 || log.time.seconds > now + 900
    }

    private let late = [0, 5, 10, 20, 30, 40]

    @Test(
        "Rewritten, they are delivered with the present and keep their own time",
        arguments: [64 << 10, 200]
    )
    func rewrite(rowBytes: Int) throws {
        let store = try open(.rewrite, rowBytes: rowBytes)
        _ = store.store(Batch(mixed()))
        let sls = FakeSLS(store, refuses: isLate)
        try sls.run()
        // Nothing is halved: one refusal, one packet in its place.
        #expect(sls.requests == 2)
        #expect(try sls.numbers == Array(0..<50))
        for log in sls.stored {
            let number = try number(log)
            let original = log.fields.first { $0.key == "__original_time__" }?.value
            if late.contains(number) {
                #expect(original == "\(number == 5 ? now + 3600 : old)")
                #expect(abs(Int64(log.time.seconds) - Int64(now)) < 60)
            } else {
                #expect(original == nil && log.time.seconds == now)
            }
        }
        #expect(store.status.ledger.delivered == 50 && store.status.ledger.isClosed)
        #expect(store.status.bytes == 0)
    }

    @Test(
        "Late logs that are dropped count as discarded, and the others are delivered",
        arguments: [64 << 10, 200]
    )
    func drop(rowBytes: Int) throws {
        let store = try open(.drop, rowBytes: rowBytes)
        _ = store.store(Batch(mixed()))
        let sls = FakeSLS(store, refuses: isLate)
        try sls.run()
        #expect(sls.requests == 2)
        #expect(try sls.numbers == (0..<50).filter { !late.contains($0) })
        #expect(store.status.ledger.discarded == Int64(late.count))
        #expect(store.status.ledger.isClosed && store.status.bytes == 0)
    }

    @Test("Dead letters of late logs name the time as the reason", arguments: [64 << 10, 60])
    func deadLetter(rowBytes: Int) throws {
        let store = try open(.deadLetter, rowBytes: rowBytes)
        _ = store.store(Batch(mixed()))
        let sls = FakeSLS(store, refuses: isLate)
        try sls.run()
        #expect(sls.requests == 2)
        #expect(try store.deadNumbers() == late)
        for letter in try store.letters() {
            #expect(letter.reason.code == "LogTimeInvalid")
            #expect(letter.reason.message.contains(FakeSLS.reason.message))
            #expect(letter.reason.requestID == FakeSLS.reason.requestID)
            #expect(isLate(try #require(letter.content)))
        }
        #expect(store.status.ledger.delivered == 44 && store.status.ledger.isClosed)
    }

    @Test("If the answer has SLS's time, that time decides which logs are late")
    func serverTime() throws {
        let store = try open(.rewrite)
        let (later, almostOld) = (now + 600, now - 7 * 86_400 + 300)
        var logs = timed([0], at: now)
        let one = timed([1], at: almostOld)
        logs.bytes += one.bytes
        logs.count += 1
        _ = store.store(Batch(logs))
        let reason = DeathReason(
            code: "PostBodyInvalid",
            message: "a log is bad",
            serverTime: WallTime(seconds: Int64(later))
        )
        let sls = FakeSLS(store, because: reason) { $0.time.seconds == almostOld }
        try sls.run()
        #expect(sls.requests == 2)
        #expect(sls.stored.map(\.time.seconds) == [now, later])
        #expect(store.status.ledger.delivered == 2 && store.status.ledger.dead == 0)
    }

    @Test("The answer's time counts also while the queue's own clock is not set")
    func serverTimeFirst() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.lateLogs = .rewrite
        let clock = ManualClock(at: WallTime(seconds: 5)).queueClock
        let store = try directory.open(configuration, clock: clock)
        _ = store.store(Batch(timed(0..<3, at: 5)))
        let reason = DeathReason(
            code: "PostBodyInvalid",
            message: "a log is bad",
            serverTime: WallTime(seconds: Int64(now))
        )
        let sls = FakeSLS(store, because: reason, refuses: isLate)
        try sls.run()
        #expect(sls.requests == 2)
        #expect(sls.stored.map(\.time.seconds) == [now, now, now])
        #expect(store.status.ledger.delivered == 3 && store.status.ledger.dead == 0)
    }

    @Test("A packet of late logs alone leaves no packet when they are dropped")
    func nothingLeft() throws {
        let store = try open(.drop)
        _ = store.store(Batch(timed(0..<5, at: old)))
        let sls = FakeSLS(store, refuses: isLate)
        try sls.run()
        #expect(sls.requests == 1)
        #expect(store.status.packets == 0 && store.status.rows == 0 && store.status.bytes == 0)
        #expect(store.status.ledger.discarded == 5 && store.status.ledger.isClosed)
    }

    @Test("A packet with a late and a bad log needs both: its time first, then the halves")
    func lateAndBad() throws {
        let store = try open(.rewrite)
        _ = store.store(Batch(mixed()))
        let sls = FakeSLS(store) { isLate($0) || (try? number($0) == 33) ?? true }
        try sls.run()
        #expect(try sls.numbers.sorted() == (0..<50).filter { $0 != 33 })
        #expect(try store.deadNumbers() == [33])
        #expect(try store.letters()[0].reason == FakeSLS.reason)
    }
}

import Configuration
import Logs
import Queue
import System
import TestSupport
import Testing

/// Logs that SLS would refuse, each destination as it wants them.
@Suite(.timeLimit(.minutes(1))) struct UnsoundLogTests {
    private let body = #"[{"__time__":1736843400,"n":1},{"n":2}]"#

    private func batch(_ keys: String, _ body: String) throws -> (Batch, TestAnswer) {
        let end = try DeviceListener(DeviceListener.destination(keys))
        let answer = try end.client.post("/logs/xx", body.utf8)
        return (try #require(end.queue.stored.first, "\(answer.text)"), answer)
    }

    @Test("A late log is dropped and counted where that is wanted")
    func dropped() throws {
        let (batch, answer) = try batch("late_logs: drop", body)
        #expect(batch.logs.count == 1)
        #expect(batch.dropped == 1)
        #expect(batch.dead.isEmpty)
        #expect(answer.text.contains(#""count":2"#))
    }

    @Test("A late log is a dead letter with its own time where that is wanted")
    func deadLetter() throws {
        let (batch, answer) = try batch("late_logs: dead_letter", body)
        #expect(batch.logs.count == 1)
        #expect(batch.dropped == 0)
        let dead = try #require(batch.dead.first)
        #expect(dead.reason.code == "LogTimeInvalid")
        #expect(dead.reason.message.contains("601200 s before"))
        let log = try dead.logs.entries()[0]
        #expect(log.time == LogTime(seconds: 1_736_843_400))
        #expect(answer.text.contains(#""count":2"#))
    }

    @Test("How late a log may be is the destination's to say")
    func delay() throws {
        let time = WallTime.now.seconds - 7200
        let body = #"{"__time__":\#(time),"n":1}"#
        #expect(try batch("late_logs: drop", body).0.dropped == 0)
        #expect(try batch("late_logs: drop\n    max_log_delay: 1h", body).0.dropped == 1)
    }

    @Test("A batch may be nothing but late logs")
    func onlyLate() throws {
        let (batch, answer) = try batch("late_logs: drop", #"{"__time__":5}"#)
        #expect(answer.status == 200)
        #expect(answer.text.contains(#""count":1"#))
        #expect(batch.logs.count == 0)
        #expect(batch.dropped == 1)
    }

    @Test("A value that is too large does not cost the batch")
    func oversized() throws {
        let value = String(repeating: "v", count: 1 << 20)
        let body = #"{"big":"\#(value)v"}{"n":2}"#
        let cut = try batch("oversize: truncate", body).0
        #expect(cut.logs.count == 2)
        #expect(cut.dead.isEmpty)
        let (batch, answer) = try batch("oversize: dead_letter", body)
        #expect(answer.text.contains(#""count":2"#))
        #expect(batch.logs.count == 1)
        #expect(batch.dead.map(\.reason.code) == ["ValueTooLarge"])
        #expect(batch.dead.map(\.reason.message) == ["the value of big exceeds 1048576 bytes"])
    }

    @Test("A log that no packet can carry is a dead letter whatever is wanted")
    func tooLarge() throws {
        let end = try DeviceListener {
            $0.bodyBytes = 20 << 20
            $0.inflatedBytes = 20 << 20
        }
        let value = String(repeating: "v", count: 1 << 20)
        let fields = (0..<10).map { #""k\#($0)":"\#(value)""# }.joined(separator: ",")
        let answer = try end.client.post("/logs/xx", "{\(fields)}{\"n\":2}".utf8)
        #expect(answer.text.contains(#""count":2"#))
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == 1)
        #expect(batch.dead.map(\.reason.code) == ["LogTooLarge"])
        #expect(batch.dead.map(\.logs.count) == [1])
    }
}

import Configuration
import HTTP
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// Logs that SLS would refuse, each destination as it wants them.
@Suite(.timeLimit(.minutes(10))) struct UnsoundLogTests {
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

@Suite(.timeLimit(.minutes(10))) struct ClockTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    @Test("A device that tells its time gets its logs' times corrected, and the logs say so")
    func corrected() throws {
        let now = WallTime.now.seconds
        let shown = now - 86_400 * 30
        let body = #"{"__logs__":[{"__time__":\#(shown - 10),"k":"v"},{"k":"w"}]}"#
        let answer = try end.client.post(
            "/logstores/app-log/track",
            body.utf8,
            ["x-log-client-time": "\(shown).25"]
        )
        #expect(answer.status == 200)
        let logs = try #require(end.queue.stored.first).entries()
        #expect(abs(Int64(logs[0].time.seconds) - (now - 10)) <= 2)
        let skew = try #require(logs[0].fields.first { $0.key == "__clock_skew__" })
        #expect(abs((Int64(skew.value) ?? 0) - 86_400 * 30) <= 2)
        #expect(logs[1].fields.map(\.key) == ["k"])
        #expect(end.shared.counters.content == [.clockCorrected: 1])
    }

    @Test("A clock that is right costs nothing", arguments: ["", "soon", "5"])
    func untouched(shown: String) throws {
        let now = WallTime.now.seconds
        let body = #"{"__time__":\#(now),"k":"v"}"#
        _ = try end.client.post("/logs/x", body.utf8, ["x-log-client-time": "\(now)"])
        _ = try end.client.post("/logs/x", body.utf8, ["x-log-client-time": shown])
        for batch in end.queue.stored {
            #expect(try batch.entries()[0].fields.map(\.key) == ["k"])
        }
        #expect(end.queue.stored.count == 2)
        #expect(end.shared.counters.content == [.clockUnusable: 1])
    }

    @Test("A body that takes long does not make the clock look slow")
    func slowBody() throws {
        // Half a second on its way: with the body's time it would be two.
        let now = WallTime(nanoseconds: WallTime.now.nanoseconds - 500_000_000)
        let body = #"{"__time__":\#(now.seconds),"k":"v"}"#
        let slow = try end.client.opened(
            sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "x-log-client-time: \(now.milliseconds)\r\ncontent-length: \(body.utf8.count)\r\n\r\n{"
        )
        #expect(eventually { WallTime.now.nanoseconds - now.nanoseconds > 1_800_000_000 })
        slow.send(Array(body.utf8.dropFirst()))
        #expect(slow.rest().contains(" 200 "))
        #expect(try end.queue.stored[0].entries()[0].fields.map(\.key) == ["k"])
    }

    @Test("Logs without a time get that of their head, however long the request waits")
    func waitingRequest() throws {
        let arrival = WallTime(nanoseconds: WallTime.now.nanoseconds - 60_000_000_000)
        let head = RequestHead.made("POST /logs/x", [], at: arrival)
        #expect(DeviceHandler(end.shared).timing(head, for: "app").arrival == arrival)
    }
}

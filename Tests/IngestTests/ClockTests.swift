import HTTP
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(1))) struct ClockTests {
    @Test("A device that tells its time gets its logs' times corrected, and the logs say so")
    func corrected() throws {
        let end = try DeviceListener()
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
        let end = try DeviceListener()
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
        let end = try DeviceListener()
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
        let end = try DeviceListener()
        let arrival = WallTime(nanoseconds: WallTime.now.nanoseconds - 60_000_000_000)
        let head = RequestHead.made("POST /logs/x", [], at: arrival)
        #expect(DeviceHandler(end.shared).timing(head, for: "app").arrival == arrival)
    }
}

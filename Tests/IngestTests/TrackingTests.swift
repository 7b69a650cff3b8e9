import Configuration
import HTTP
import Ingest
import Logs
import Queue
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TrackingTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let track = "/logstores/app-log/track"

    private func fields(_ end: DeviceListener) throws -> [String] {
        let entries = try #require(end.queue.stored.last).entries()
        #expect(entries.count == 1)
        return entries[0].texts
    }

    @Test("A GET stores the log in its query", arguments: ["", ".gif"])
    func query(form: String) throws {
        let time = UInt32(WallTime.now.seconds - 60)
        let answer = try end.client.get(
            Self.track + form + "?APIVersion=0.6.0&__topic__=t&__source__=page&__time__=\(time)"
                + "&level=info&msg=h%C3%A9llo+%E4%B8%96%20x&&empty&__partition_time__=1",
            ["user-agent": "browser"]
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer["cache-control"] == "no-store")
        #expect(answer["access-control-allow-origin"] == "*")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        #expect(
            try fields(end) == [
                "level=info", "msg=héllo 世 x", "empty=", "field__partition_time__=1",
            ]
        )
        let batch = try #require(end.queue.stored.last)
        #expect(batch.stream.trailer.topic == "t")
        #expect(batch.stream.trailer.source == "page")
        #expect(try batch.entries()[0].time.seconds == time)
        #expect(end.shared.counters.accepted.first { $0.route == "track" }?.counts[.logs] == 1)
    }

    @Test("A picture is one of 43 bytes, also of the pixel that tells the browser")
    func picture() throws {
        for form in [".gif", "_ua.gif"] {
            let answer = try end.client.get(
                Self.track + form + "?APIVersion=0.6.0&k=v&__userAgent__=mine",
                ["user-agent": "Mozilla/5.0 (X)", "referer": "https://a.test/b?c"]
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["content-type"] == "image/gif")
            #expect(answer["content-length"] == "43")
            #expect(answer.body.starts(with: Array("GIF89a".utf8)))
            #expect(answer.body.last == 0x3B)
        }
        #expect(try end.queue.stored[0].entries()[0].fields.count == 2)
        #expect(
            try fields(end) == [
                "k=v", "__userAgent__=Mozilla/5.0 (X)", "__referer__=https://a.test/b?c",
            ]
        )
    }

    @Test("A pixel that tells the browser needs no more than that")
    func browserOnly() throws {
        let path = Self.track + "_ua.gif?APIVersion=0.6.0"
        #expect(try end.client.get(path, ["user-agent": "b"]).status == 200)
        #expect(try fields(end) == ["__userAgent__=b"])
        #expect(try end.client.get(path).status == 400)
    }

    @Test("Asking for the head stores nothing", arguments: ["", ".gif", "_ua.gif"])
    func head(form: String) throws {
        let answer = try end.client.send("HEAD", Self.track + form + "?APIVersion=0.6.0&k=v")
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(end.queue.identities.isEmpty)
    }

    @Test("Each GET is a log of its own, whatever key a client puts on it")
    func keys() throws {
        for value in ["1", "2"] {
            let answer = try end.client.get(
                Self.track + "?k=\(value)",
                ["idempotency-key": "same"]
            )
            #expect(answer.status == 200)
        }
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.identities.allSatisfy { $0 == nil })
    }

    @Test("A query of 16 KiB is too long, where the server reads such lines at all")
    func longQuery() throws {
        let end = try DeviceListener {
            $0.http.requestLineBytes = 64 << 10
            $0.http.headBytes = 64 << 10
        }
        let value = String(repeating: "v", count: (16 << 10) - 3)
        #expect(try end.client.get(Self.track + "?k=\(value)").status == 200)
        let answer = try end.client.get(Self.track + "?k=\(value)v")
        #expect(answer.status == 413)
        #expect(answer.text.contains("below 16 KiB"))
    }

    @Test(
        "JSON is JSON, whatever it is called",
        arguments: [
            "application/json", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded",
            "application/x-protobuf", nil,
        ]
    )
    func contentTypes(contentType: String?) throws {
        let time = UInt32(WallTime.now.seconds - 60)
        // As the SDKs for browsers and phones write it, and times as text, too.
        for time in ["\(time)", "\"\(time)\""] {
            let body = #"{"__logs__":[{"__time__":\#(time),"k":"v"}],"__topic__":"t"}"#
            let version: KeyValuePairs = ["x-log-apiversion": "0.6.0"]
            let answer =
                if let contentType {
                    try end.client.post(Self.track, body.utf8, ["content-type": contentType])
                } else {
                    try end.client.post(Self.track, body.utf8, version)
                }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try fields(end) == ["k=v"])
        }
        let times = try end.queue.stored.map { try $0.entries()[0].time.seconds }
        #expect(times == [time, time])
    }

    @Test("An SDK for iOS that does not compress sends protobuf, as a form, and is known again")
    func protobuf() throws {
        var logs = EncodedLogs()
        let time = LogTime(seconds: UInt32(WallTime.now.seconds - 60))
        // A log of 123 bytes begins as JSON does: a line feed, and a brace.
        for size in [1, 109] {
            logs.append(time: time, fields: [("k", String(repeating: "v", count: size))])
        }
        let tags = [(key: "__pack_id__", value: "ABC-1")]
        let body = logs.bytes + GroupTrailer(topic: "t", source: "iOS", tags: tags).bytes
        let answer = try end.client.post(
            Self.track,
            body,
            [
                "content-type": "application/x-www-form-urlencoded",
                "x-log-bodyrawsize": "\(body.count)", "x-log-apiversion": "0.6.0",
            ]
        )
        #expect(answer.status == 200, "\(answer.text)")
        let batch = try #require(end.queue.stored.last)
        #expect(batch.logs == logs)
        #expect(batch.stream.trailer.source == "iOS")
        #expect(end.queue.identities.last??.digest.count == 16)
    }
}

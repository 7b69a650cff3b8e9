import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct PlainQueryTests {
    private static let hour = WallTime.now.seconds - 3600

    private func batch(
        _ path: String,
        _ body: String,
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> Batch {
        let end = try DeviceListener()
        let answer = try end.client.post(path, body.utf8, fields)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(end.queue.stored.first)
    }

    @Test("time_field names the field that has the time")
    func timeField() throws {
        let batch = try self.batch(
            "/logs/nginx?time_field=date",
            #"[{"date":\#(Self.hour).25,"a":"b"}]"#
        )
        let log = try #require(try batch.entries().first)
        #expect(Int64(log.time.seconds) == Self.hour && log.time.nanoseconds == 250_000_000)
        #expect(log.texts == ["a=b"])
    }

    @Test("A time that cannot be read is 400 with its place")
    func unreadable() throws {
        let end = try DeviceListener()
        let answer = try end.client.post("/logs/x?time_field=%40t", #"{"@t":"noon"}"#.utf8)
        #expect(answer.status == 400)
        #expect(answer.text.contains("a log's time must be a number since 1970"))
        #expect(answer.text.contains(#""position":6"#), "\(answer.text)")
    }

    @Test(
        "Topic and source are the batch's own, and beat what the destination says",
        arguments: [
            ("", "x", ""), ("?topic=a+b%2Bc&source=10.0.0.7", "a b+c", "10.0.0.7"),
            ("?topic=&source=", "x", ""), ("?topic=%E4%B8%96&key=none", "世", ""), ("?&", "x", ""),
        ]
    )
    func labels(query: String, topic: String, source: String) throws {
        let trailer = try batch("/logs/x\(query)", #"{"a":1}"#).stream.trailer
        #expect(trailer.topic == topic)
        #expect(trailer.source == source)
    }

    @Test(
        "Names that mean nothing here are ignored, as libraries and proxies add them",
        arguments: [
            "_=1732330000123", "topic=t&_=1&_=2", "time=%zz", "%zz=1", "%ff", "=", "a=%ff&key=",
            "utm_source=x&gclid=y", "Topic=other",
        ]
    )
    func unknown(query: String) throws {
        let batch = try self.batch("/logs/x?\(query)", #"{"a":1}"#)
        #expect(batch.logs.count == 1)
        #expect(batch.stream.trailer.topic == (query.hasPrefix("topic=t") ? "t" : "x"))
    }

    @Test("What the destination says stands where the query says nothing")
    func defaults() throws {
        let host = ["host": "other-project.gateway.test"] as KeyValuePairs
        let plain = try batch("/logs/xx", #"{"a":1}"#, host).stream.trailer
        #expect(plain.topic == "given" && plain.source == "here")
        let own = try batch("/logs/xx?topic=mine&source=me", #"{"a":1}"#, host).stream.trailer
        #expect(own.topic == "mine" && own.source == "me")
    }

    @Test("Lines are logs of one field, whatever they are called", arguments: ["text/plain", nil])
    func lines(type: String?) throws {
        let body = "first\r\n\r\n{\"second\":2}\n"
        let path = "/logs/x?format=lines&topic=t"
        let fields: KeyValuePairs = type.map { ["content-type": $0] } ?? [:]
        let batch = try self.batch(path, body, fields)
        let logs = try batch.fields()
        #expect(logs == [["message=first"], [#"message={"second":2}"#]])
        #expect(batch.stream.trailer.topic == "t")
    }

    @Test(
        "What the query cannot mean is said, before the body is read",
        arguments: [
            ("time_field=", "time_field is the name of a field, 1 to 128 bytes"),
            ("time_field=\(String(repeating: "x", count: 129))", "1 to 128 bytes"),
            ("topic=\(String(repeating: "x", count: 129))", "topic must not exceed 128 bytes"),
            ("source=\(String(repeating: "x", count: 129))", "source must not exceed 128 bytes"),
            ("topic=a&topic=a", "topic is there twice"),
            ("_=1&_=2&topic=%zz", "topic has a % that is no escape"),
            ("topic=%ff", "not UTF-8"), ("format=csv", "format is neither json nor lines"),
            ("format=lines&time_field=t", "time_field is for JSON"),
        ]
    )
    func mistakes(query: String, reason: String) throws {
        let end = try DeviceListener()
        // The body is announced and never sent.
        let answer = try end.client.exchange(
            Array(
                "POST /logs/x?\(query) HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"
                    .utf8
            )
        )
        #expect(answer.status == 400)
        #expect(answer.text.contains(#""code":"ParameterInvalid""#), "\(answer.text)")
        #expect(answer.text.contains(reason), "\(answer.text)")
    }

    @Test("A form with a file is told what to do instead")
    func multipart() throws {
        let end = try DeviceListener()
        let type = "Multipart/form-data; boundary=x"
        let answer = try end.client.post("/logs/x", "--x".utf8, ["content-type": type])
        #expect(answer.status == 415)
        #expect(answer.text.contains("--data-binary @file"))
    }

    @Test("Any other type may be JSON", arguments: ["application/x-www-form-urlencoded", "x", ""])
    func types(type: String) throws {
        #expect(try batch("/logs/x", #"{"a":1}"#, ["content-type": type]).logs.count == 1)
    }

    @Test(
        "/logs answers with the configured status, or with the one that the request names",
        arguments: [
            ("", "", 200), ("", "?status=201", 201), ("devices: { plain_status: 201 }", "", 201),
            ("devices: { plain_status: 201 }", "?status=200", 200),
        ]
    )
    func status(devices: String, query: String, status: Int) throws {
        let end = try DeviceListener(DeviceListener.twoDestinations + "\n" + devices)
        let fields: KeyValuePairs = ["idempotency-key": "one"]
        let first = try end.client.post("/logs/x\(query)", #"{"a":1}"#.utf8, fields)
        #expect(first.status == status, "\(first.text)")
        let receipt = Array(try #require(first["x-log-requestid"]).utf8)
        end.queue.outcome.withLock { $0 = .repeated(receipt: receipt, logs: 1) }
        let again = try end.client.post("/logs/x\(query)", #"{"a":1}"#.utf8, fields)
        #expect(again.status == status)
        #expect(again.text == first.text, "the repetition has the first answer")
        #expect(end.queue.stored.count == 1)
        // A refusal keeps its own status, and other paths keep theirs.
        #expect(try end.client.post("/logs/x\(query)", "{".utf8).status == 400)
        #expect(try end.client.post(BadRequest.track, #"{"__logs__":[]}"#.utf8).status == 200)
    }

    @Test("Another status in the query is refused")
    func unknownStatus() throws {
        let end = try DeviceListener()
        let answer = try end.client.post("/logs/x?status=202", #"{"a":1}"#.utf8)
        #expect(answer.status == 400)
        #expect(answer.text.contains("status is neither 200 nor 201"))
        #expect(end.queue.stored.isEmpty)
    }
}

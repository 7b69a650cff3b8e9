import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// What agents send to `/logs/{tag}`, as they send it.
@Suite(.timeLimit(.minutes(10))) struct AgentTests {
    private static let now = WallTime.now.seconds - 60

    /// A request but for its length, and how many logs it has.
    struct Request: CustomTestStringConvertible {
        let agent: String
        let head: String
        let body: String
        var logs = 2
        var testDescription: String { agent }
    }

    static let requests: [Request] = [
        .init(
            agent: "Fluent Bit, json",
            head: """
                POST /logs/app?time_field=date HTTP/1.1
                Host: 127.0.0.1:8080
                User-Agent: Fluent-Bit
                Content-Type: application/json
                """,
            body: #"[{"date":\#(now).123456,"log":"a"},{"date":\#(now).5,"log":"b"}]"#
        ),
        .init(
            agent: "Fluent Bit, json_lines",
            head: """
                POST /logs/app?time_field=date HTTP/1.1
                Host: 127.0.0.1:8080
                User-Agent: Fluent-Bit
                Content-Type: application/x-ndjson
                """,
            body: #"{"date":"\#(rfc3339)","log":"a"}\#n{"date":"\#(rfc3339)","log":"b"}"#
        ),
        .init(
            agent: "Fluent Bit, json_stream",
            head: """
                POST /logs/app?time_field=date HTTP/1.1
                Host: 127.0.0.1:8080
                Content-Type: application/json
                """,
            body: #"{"date":\#(now),"log":"a"}{"date":\#(now),"log":"b"}"#
        ),
        .init(
            agent: "Fluentd",
            head: """
                POST /logs/app?time_field=time HTTP/1.1
                Content-Type: application/x-ndjson
                Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3
                Accept: */*
                User-Agent: Ruby
                Host: 127.0.0.1:8080
                """,
            body: #"{"message":"a","time":\#(now).1234567}\#n{"message":"b","time":\#(now)}\#n"#
        ),
        .init(
            agent: "Vector, json",
            head: """
                POST /logs/app?time_field=timestamp HTTP/1.1
                content-type: application/json
                user-agent: Vector/0.49.0 (x86_64-unknown-linux-gnu)
                accept: */*
                host: 127.0.0.1:8080
                """,
            body:
                #"[{"host":"h","message":"a","timestamp":"\#(rfc3339)"},"#
                + #"{"host":"h","message":"b","timestamp":"\#(rfc3339)"}]"#
        ),
        .init(
            agent: "Vector, newline_delimited",
            head: """
                POST /logs/app?time_field=timestamp HTTP/1.1
                content-type: application/x-ndjson
                host: 127.0.0.1:8080
                """,
            body: #"{"message":"a","timestamp":"\#(rfc3339)"}\#n{"message":"b"}\#n"#
        ),
        .init(
            agent: "syslog-ng",
            head: """
                POST /logs/app?time_field=ISODATE HTTP/1.1
                Host: 127.0.0.1:8080
                User-Agent: syslog-ng 3.38.1/libcurl 7.88.1
                Accept: */*
                X-Syslog-Host: h
                X-Syslog-Program: p
                Content-Type: application/json
                """,
            body:
                #"{"MESSAGE":"a","ISODATE":"\#(rfc3339)"}\#n{"MESSAGE":"b","ISODATE":"\#(rfc3339)"}"#
        ),
        .init(
            agent: "rsyslog omhttp, newline",
            head: """
                POST /logs/app?time_field=timestamp HTTP/1.1
                Host: 127.0.0.1:8080
                Accept: */*
                Content-Type: application/json
                """,
            body: #"{"msg":"a","timestamp":"\#(rfc3339)"}\#n{"msg":"b","timestamp":"\#(rfc3339)"}"#
        ),
        .init(
            agent: "rsyslog omhttp, jsonarray",
            head: """
                POST /logs/app HTTP/1.1
                Host: 127.0.0.1:8080
                Accept: */*
                Content-Type: text/plain
                """,
            body: #"[{"msg":"a"},{"msg":"b"}]"#
        ),
        .init(
            agent: "ESP32 HTTPClient",
            head: """
                POST /logs/app HTTP/1.1
                Host: 127.0.0.1:8080
                User-Agent: ESP32HTTPClient
                Connection: keep-alive
                Accept-Encoding: identity;q=1,chunked;q=0.1,*;q=0
                Content-Type: application/json
                """,
            body: #"{"free_heap":1234,"rssi":-61}"#,
            logs: 1
        ),
        .init(
            agent: "curl --data-binary @file",
            head: """
                POST /logs/app?format=lines HTTP/1.1
                Host: 127.0.0.1:8080
                User-Agent: curl/7.88.1
                Accept: */*
                Content-Type: application/x-www-form-urlencoded
                """,
            body: "a line\nanother\n"
        ),
    ]

    private static let rfc3339 = "\(WallTime.now.rfc3339.prefix(19)).25Z"
    private static let n = "\n"

    private func check(_ end: DeviceListener, _ request: Request) throws {
        let batch = try #require(end.queue.stored.first)
        #expect(batch.logs.count == request.logs)
        #expect(batch.stream.trailer.topic == "app")
        for log in try batch.entries() {
            // The requests were made when the suite began, and some have no time but their arrival.
            #expect(Self.now...WallTime.now.seconds ~= Int64(log.time.seconds))
            #expect(!log.fields.contains { $0.key.contains("original") }, "\(log.fields)")
        }
    }

    private func lines(_ request: Request) -> String {
        request.head.split(separator: "\n").map { $0 + "\r\n" }.joined()
    }

    @Test("What agents send is taken", arguments: requests)
    func whole(request: Request) throws {
        let end = try DeviceListener()
        let head = "Content-Length: \(request.body.utf8.count)\r\n\r\n"
        let connection = try end.client.opened(sending: lines(request) + head + request.body)
        #expect(connection.receives("\"count\":\(request.logs)}"), "\(connection.unreadText)")
        try check(end, request)
    }

    @Test(
        "And so it is in chunks, as NSURLSession streams a file, after a 100",
        arguments: requests
    )
    func chunked(request: Request) throws {
        let end = try DeviceListener()
        let head = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        let connection = try end.client.opened(sending: lines(request) + head)
        #expect(connection.receives("HTTP/1.1 100 "))
        let body = Array(request.body.utf8)
        for part in [Array(body.prefix(7)), Array(body.dropFirst(7)), []] {
            let size = String(part.count, radix: 16)
            connection.send(Array("\(size)\r\n".utf8) + part + Array("\r\n".utf8))
        }
        #expect(connection.receives("\"count\":\(request.logs)}"), "\(connection.unreadText)")
        try check(end, request)
    }
}

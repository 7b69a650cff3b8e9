import HTTP
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// SDKs in C take the last header line that begins with `x-log-` for the request id.
@Suite(.timeLimit(.minutes(10))) struct ReceiptOrderTests {
    /// One log with a field.
    private static let group =
        "\u{0A}\u{0A}\u{08}\u{01}\u{12}\u{06}\u{0A}\u{01}a\u{12}\u{01}b"
    private static let track = "/logstores/app-log/track"

    struct Case: CustomTestStringConvertible {
        let request: String
        let status: Int
        var body = ""
        var fields = ""
        var admission = QueueAdmission.open

        var testDescription: String { "\(status): \(request) \(fields)" }
    }

    private static let cases: [Case] = [
        Case(request: "POST \(track)", status: 200, body: #"{"__logs__":[{"a":"1"}]}"#),
        Case(request: "GET \(track)?APIVersion=0.6.0&a=1", status: 200),
        Case(request: "GET \(track).gif?APIVersion=0.6.0&a=1", status: 200),
        Case(request: "GET \(track)_ua.gif?APIVersion=0.6.0&a=1", status: 200),
        Case(request: "HEAD \(track)?a=1", status: 200),
        Case(request: "OPTIONS \(track)", status: 204, fields: "origin: https://a.example\r\n"),
        Case(request: "POST /logstores/app-log/shards/lb", status: 200, body: group),
        Case(
            request: "POST /logstores/app-log/shards/route?key=0123456789abcdef0123456789abcdef",
            status: 200,
            body: group
        ),
        Case(request: "POST /logstores/app-log", status: 200, body: group),
        Case(request: "GET /servertime", status: 200),
        Case(request: "POST \(track)", status: 400, body: "{"),
        Case(request: "POST \(track)", status: 400, fields: "x-log-bodyrawsize: 5\r\n"),
        Case(
            request: "POST \(track)",
            status: 503,
            body: #"{"__logs__":[{"a":"1"}]}"#,
            admission: .full
        ),
        Case(request: "POST /logstores/app-log/shards/lb", status: 400),
        Case(request: "POST /logstores/none/shards/lb", status: 404, body: group),
        Case(request: "DELETE /logstores/app-log/track", status: 405),
        Case(request: "GET /logstores/app-log/shards", status: 404),
        Case(request: "POST \(track)", status: 413, fields: "content-length: 99999999\r\n"),
        Case(request: "POST \(track)", status: 400, fields: "bad field: 1\r\n"),
    ]

    @Test("The receipt is the last line of every answer on SLS's paths", arguments: cases)
    func order(_ each: Case) throws {
        let end = try DeviceListener(
            DeviceListener.twoDestinations.replacing(
                "tags: { env: prod }",
                with: "stamp: { client_ip: ip, receipt: id }"
            )
        )
        if each.admission != .open { end.queue.say(each.admission) }
        let length =
            each.fields.contains("content-length")
            ? "" : "content-length: \(each.body.utf8.count)\r\n"
        let answer = try end.client.opened(
            sending: "\(each.request) HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\(each.fields)"
                + (each.request.hasPrefix("POST") ? length : "") + "\r\n" + each.body
        ).rest()
        #expect(answer.hasPrefix("HTTP/1.1 \(each.status) "), "\(answer)")
        let head = try #require(answer.firstRange(of: "\r\n\r\n"))
        let lines = answer[..<head.lowerBound].split(separator: "\r\n")
        let own = lines.filter { $0.lowercased().hasPrefix("x-log-") }
        #expect(own.count == 2, "no new names: \(own)")
        #expect(own.first?.hasPrefix("x-log-time: ") == true, "\(own)")
        let last = try #require(lines.last)
        #expect(last.hasPrefix("x-log-requestid: "), "\(last)")
        #expect(last.utf8.count == "x-log-requestid: ".utf8.count + 24)
    }
}

@Suite struct StampTests {
    private let time = WallTime(seconds: 1_736_843_400)

    private let times = "x-log-time: 1736843400\r\ndate: Tue, 14 Jan 2025 08:30:00 GMT\r\n"

    @Test("An answer without a receipt gets the time, then a new receipt")
    func withoutReceipt() {
        let text = stamped(Response(status: 404))
        #expect(text.hasPrefix(times + "x-log-requestid: "))
        #expect(text.utf8.count == times.utf8.count + "x-log-requestid: \r\n".utf8.count + 24)
    }

    @Test("An answer's own receipt is the only one, and the last field")
    func withReceipt() {
        var response = Response(status: 200)
        response.receipt = Array("MINE".utf8)
        #expect(stamped(response) == times + "x-log-requestid: MINE\r\n")
    }

    private func stamped(_ response: Response) -> String {
        var stamp = Stamp(mint: ReceiptMint())
        var fields: [UInt8] = []
        stamp.apply(to: &fields, of: response, now: time)
        return String(decoding: fields, as: UTF8.self)
    }

    @Test("Receipts are 24 upper-case hexadecimal digits and never repeat")
    func receipts() {
        let mint = ReceiptMint()
        let receipts = (0..<1000).map { _ in String(decoding: mint.next(), as: UTF8.self) }
        #expect(Set(receipts).count == 1000)
        #expect(
            receipts.allSatisfy { receipt in
                receipt.utf8.count == 24 && receipt.allSatisfy { "0123456789ABCDEF".contains($0) }
            }
        )
    }
}

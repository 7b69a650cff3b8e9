import System
import Testing

@testable import SLS

@Suite struct SLSAnswerTests {
    static let id = (name: "x-log-requestid", value: "5642FC2399248C8F7B0145FD")

    @Test("A 200 with a request id means stored")
    func stored() {
        let answer = SLSAnswer(
            status: 200,
            headers: [("X-Log-RequestId", Self.id.value), ("x-log-time", "1736843400")],
            body: []
        )
        #expect(answer.isStored)
        #expect(answer.requestID == Self.id.value)
        #expect(answer.serverTime == Vectors.time)
    }

    @Test(
        "Anything else does not",
        arguments: [
            (200, []), (200, [("x-log-requestid", "")]), (200, [("x-log-requestid", "a b")]),
            (201, [id]), (204, [id]), (302, [id]), (500, [id]),
        ]
    )
    func notStored(status: Int, headers: [(name: String, value: String)]) {
        #expect(!SLSAnswer(status: status, headers: headers, body: []).isStored)
    }

    @Test("The time comes from SLS's own header, else from Date, and only from SLS")
    func serverTime() {
        let date = (name: "Date", value: "Tue, 14 Jan 2025 08:30:00 GMT")
        func time(_ headers: [(name: String, value: String)]) -> WallTime? {
            SLSAnswer(status: 400, headers: headers, body: []).serverTime
        }
        #expect(time([Self.id, date]) == Vectors.time)
        #expect(time([Self.id, date, ("x-log-time", "1736843401")])?.seconds == 1_736_843_401)
        #expect(time([Self.id, date, ("x-log-time", "12")]) == Vectors.time)
        #expect(time([Self.id, ("x-log-time", "99999999999999999999")]) == nil)
        #expect(time([date]) == nil)
    }

    @Test(
        "A time that cannot be is none, wherever it comes from",
        arguments: ["1970", "1999", "2137", "2263", "3000", "9999"]
    )
    func impossibleTime(year: String) {
        let date = (name: "Date", value: "Sat, 01 Jan \(year) 00:00:00 GMT")
        let headers = [Self.id, date, ("x-log-time", "9223372036854775807")]
        #expect(SLSAnswer(status: 200, headers: headers, body: []).serverTime == nil)
    }

    static let date = (name: "Date", value: "Tue, 14 Jan 2025 08:30:00 GMT")

    @Test(
        "How long to wait is told in seconds or as a date of the server's clock, an hour at most",
        arguments: [
            ("5", 5), ("3600", 3600), ("86400", 3600), ("9223372036854775807", 3600),
            ("Tue, 14 Jan 2025 08:30:07 GMT", 7), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
            ("0", nil), ("-5", nil), ("+5", nil), ("1.5", nil), ("soon", nil), ("", nil),
            ("99999999999999999999", nil), ("Tue, 14 Jan 2025 08:29:59 GMT", nil),
            ("Tue, 14 Jan 2025 08:30:00 GMT", nil),
        ] as [(String, Int?)]
    )
    func retryAfter(text: String, seconds: Int?) {
        let headers = [Self.id, Self.date, (name: "Retry-After", value: text)]
        let answer = SLSAnswer(status: 503, headers: headers, body: [])
        #expect(answer.retryAfter == seconds.map { .seconds($0) })
    }

    @Test("Nobody but SLS can ask for patience, and a date needs a clock to count from")
    func retryAfterOfOthers() {
        let soon = (name: "Retry-After", value: "5")
        let date = (name: "Retry-After", value: "Tue, 14 Jan 2025 08:30:07 GMT")
        #expect(SLSAnswer(status: 503, headers: [soon], body: []).retryAfter == nil)
        #expect(SLSAnswer(status: 503, headers: [Self.id, soon], body: []).retryAfter != nil)
        #expect(SLSAnswer(status: 503, headers: [Self.id, date], body: []).retryAfter == nil)
    }

    @Test("The reason of a refusal is read from its body")
    func refusal() {
        let body =
            #" {"errorCode":"Unauthorized","errorMessage":"no \"way\" \u4e16\ud83d\ude00\n."} "#
        let answer = SLSAnswer(status: 401, headers: [Self.id], body: Array(body.utf8))
        #expect(answer.errorCode == "Unauthorized")
        #expect(answer.errorMessage == "no \"way\" 世😀 .")
    }

    @Test("Members that nobody asked for are passed over")
    func otherMembers() {
        let body =
            #"{"a":[1,-2.5e3,{"b":null}],"errorMessage":"m","c":{},"errorCode":"ServerBusy","d":[]}"#
        let answer = SLSAnswer(status: 503, headers: [], body: Array(body.utf8))
        #expect(answer.errorCode == "ServerBusy")
        #expect(answer.errorMessage == "m")
    }

    @Test(
        "A body that is not such an object says nothing",
        arguments: [
            "", "<html>502 Bad Gateway</html>", "{", "{}", "[]", "null", #"{"errorCode":5}"#,
            #"{"errorCode":"X"} x"#, #"{"errorCode":"X",}"#,
            #"{"errorCode":"X" "errorMessage":"m"}"#,
            #"{"errorCode":"X"#, #"{"errorCode":"a b"}"#, #"{"errorCode":""}"#,
            #"{"errorCode":"X","errorMessage":"\ud83d"}"#,
            #"{"errorCode":"X","errorMessage":"\x"}"#,
            "{\"errorCode\":\"X\",\"errorMessage\":\"\n\"}", #"{"errorMessage":"m"}"#,
            #"{"a":\#(String(repeating: "[", count: 10_000))"#,
        ]
    )
    func junk(body: String) {
        let answer = SLSAnswer(status: 500, headers: [Self.id], body: Array(body.utf8))
        #expect(answer.errorCode == nil)
        #expect(answer.errorMessage == nil)
    }

    @Test("Every cut and every broken byte of an error body is survived")
    func hostile() {
        let body = Array(#"{"errorCode":"X","a":[{"b":1e5}],"errorMessage":"\u00e9\\"}"#.utf8)
        for end in 0..<body.count {
            #expect(SLSAnswer(status: 500, headers: [], body: Array(body[..<end])).errorCode == nil)
        }
        for index in body.indices {
            for byte in [0, 0x22, 0x5C, 0x7B, 0xFF] as [UInt8] {
                var broken = body
                broken[index] = byte
                _ = SLSAnswer(status: 500, headers: [], body: broken)
            }
        }
    }

    @Test("A message is whole, and on one line: nothing can be blotted out of a cut one")
    func longMessage() {
        let message = String(repeating: "é", count: 5000)
        let body = #"{"errorCode":"X","errorMessage":"\#(message)\nend"}"#
        let answer = SLSAnswer(status: 500, headers: [], body: Array(body.utf8))
        #expect(answer.errorMessage == message + " end")
    }
}

@Suite struct SLSTimeTests {
    @Test(
        "Times are written in SLS's two forms",
        arguments: [
            (1_736_843_400, "Tue, 14 Jan 2025 08:30:00 GMT", "20250114T083000Z"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "19700101T000000Z"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT", "20240229T235959Z"),
            (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT", "20991231T235959Z"),
        ]
    )
    func written(seconds: Int64, http: String, compact: String) {
        let time = WallTime(seconds: seconds)
        #expect(time.httpDate == http)
        #expect(time.compactISO8601 == compact)
        #expect(time.compactDay == String(compact.prefix(8)))
        #expect(WallTime(httpDate: http) == time)
    }

    @Test(
        "What is no date is not read as one",
        arguments: [
            "", "Tue", "2025-01-14T08:30:00Z", "Tue, 14 Jan 2025 08:30 GMT",
            "Tue, 14 Foo 2025 08:30:00 GMT", "Tue, 14 Jan 2025 24:30:00 GMT",
            "Tue, 32 Jan 2025 08:30:00 GMT", "Tue, 14 Jan 2025 08:30:00 CET",
            "Tue, 14 Jan 99999999999 08:30:00 GMT",
        ]
    )
    func unreadable(text: String) {
        #expect(WallTime(httpDate: text) == nil)
    }
}

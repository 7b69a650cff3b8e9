import HTTP
import JSON
import System
import TestSupport
import Testing

@testable import Sandbox

@Suite struct FaultTests {
    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox.forTests() }

    private func fault(_ json: String) throws -> (Sandbox, () throws -> Response) {
        #expect(try sandbox.control("POST", "/faults", json).status == 200)
        return (sandbox, { try sandbox.put(TestWrite()) })
    }

    private func stored(_ sandbox: Sandbox) throws -> Int? {
        try sandbox.control("GET", "/stats").json?["stored"]?["requests"]?.wholeNumber
    }

    @Test
    func `A counted refusal hits so many requests and stores none of them`() throws {
        let (sandbox, put) = try fault(#"{"status":503,"count":2}"#)
        let answers = try (0..<3).map { _ in try put() }
        #expect(answers.map(\.status) == [503, 503, 200])
        #expect(answers[0].errorCode == "ServerBusy")
        #expect(try stored(sandbox) == 1)
        #expect(try sandbox.control("GET", "/faults").text == "{\"faults\":[]}\n")
    }

    @Test(arguments: [
        #"{"status":503,"retry_after_s":7}"#, #"{"body":"<html>","retry_after_s":7}"#,
    ])
    func `An answer may ask to be left alone`(json: String) throws {
        let (sandbox, put) = try fault(json)
        #expect(try put().fields.contains { $0 == ("retry-after", "7") })
        let shown = try sandbox.control("GET", "/faults").text
        #expect(shown.contains(#""retry_after_s":7"#))
        #expect(try sandbox.control("DELETE", "/faults").status == 200)
        #expect(try !put().fields.contains { $0.0 == "retry-after" })
    }

    @Test(arguments: [#""reset":true"#, #""latency_ms":5"#, #""hold":true"#])
    func `Only an answer that is another one can ask for that`(members: String) throws {
        let json = "{\(members),\"retry_after_s\":7}"
        #expect(try sandbox.control("POST", "/faults", json).status == 400)
    }

    @Test
    func `Refusals follow each other in the order in which they were asked for`() throws {
        let (sandbox, put) = try fault(#"{"status":503,"count":2}"#)
        let second = #"{"code":"WriteQuotaExceed","message":"Inflow","count":1,"skip":1}"#
        #expect(try sandbox.control("POST", "/faults", second).status == 200)
        let codes = try (0..<5).map { _ in try put().errorCode }
        #expect(codes == ["ServerBusy", "ServerBusy", nil, "WriteQuotaExceed", nil])
    }

    @Test(
        arguments: [
            #""skip":1000000000,"status":500"#, #""count":1000000000,"status":500"#,
            #""fraction":5e-324,"status":500"#, #""latency_ms":1,"fraction":5e-324"#,
            #""clock_offset_s":-315360000"#, #""clock_offset_s":315360000"#, #""status":599"#,
        ]
    )
    func `Numbers of a fault at their bounds work`(members: String) throws {
        let (sandbox, put) = try fault(
            "{\(members.contains("59") ? #""code":"X","# : "")\(members)}"
        )
        _ = try put()
        #expect(try sandbox.control("GET", "/faults").status == 200)
        #expect(try sandbox.control("GET", "/").status == 200)
    }

    @Test(
        arguments: [
            ("/faults", #"{"status":500,"skip":1000000001}"#),
            ("/faults", #"{"status":500,"skip":9223372036854775808}"#),
            ("/faults", #"{"status":500,"count":0}"#),
            ("/faults", #"{"status":500,"count":-1e300}"#),
            ("/faults", #"{"status":500,"fraction":0}"#),
            ("/faults", #"{"status":500,"fraction":2}"#),
            ("/faults", #"{"latency_ms":600001}"#), ("/faults", #"{"latency_ms":0.5}"#),
            ("/faults", #"{"clock_offset_s":315360001}"#),
            ("/faults", #"{"clock_offset_s":-1e19}"#),
            ("/faults", #"{"status":9223372036854775807}"#), ("/faults", #"{"status":1e308}"#),
            ("/limits", #"{"requests_per_second":-1}"#),
            ("/limits", #"{"bytes_per_second":1e308}"#),
            ("/keys", #"{"access_key_id":"a","access_key_secret":"s","expires_in_s":1e18}"#),
            ("/keys", #"{"access_key_id":"a","access_key_secret":"s","expires_in_s":-86401}"#),
        ]
    )
    func `Numbers beyond their bounds are refused`(path: String, body: String) throws {
        #expect(try sandbox.control("POST", path, body).status == 400)
    }

    @Test(
        arguments: [
            ("/limits", #"{"requests_per_second":0,"bytes_per_second":0}"#),
            ("/limits", #"{"requests_per_second":1000000,"bytes_per_second":1e12}"#),
            ("/limits", #"{"requests_per_second":5e-324}"#),
            ("/keys", #"{"access_key_id":"a","access_key_secret":"s","expires_in_s":315360000}"#),
            ("/keys", #"{"access_key_id":"a","access_key_secret":"s","expires_in_s":-86400}"#),
        ]
    )
    func `Numbers of limits and keys at their bounds work`(path: String, body: String) throws {
        #expect(try sandbox.control("POST", path, body).status == 200)
        _ = try sandbox.put(TestWrite())
        _ = try sandbox.put(TestWrite())
        #expect(try sandbox.control("GET", "/").status == 200)
    }

    @Test
    func `A fraction hits about so many`() throws {
        let (sandbox, put) = try fault(#"{"status":500,"fraction":0.25}"#)
        let hits = try (0..<400).reduce(0) { count, _ in count + (try put().status == 500 ? 1 : 0) }
        #expect((60...140).contains(hits))
        #expect(
            try sandbox.control("GET", "/faults").json?["faults"]?[0]?["hits"]?.wholeNumber == hits
        )
    }

    @Test
    func `A fault for one logstore leaves the others alone`() throws {
        let (_, put) = try fault(#"{"status":503,"logstore":"other-log"}"#)
        #expect(try put().status == 200)
    }

    @Test
    func `A lost answer may follow a write that was stored`() throws {
        let (sandbox, put) = try fault(#"{"reset":true,"store":true,"count":1}"#)
        #expect(try put().breaks == .beforeAnswer)
        #expect(try stored(sandbox) == 1)
    }

    @Test
    func `A reset without storing loses the write`() throws {
        let (sandbox, put) = try fault(#"{"reset":true,"count":1}"#)
        #expect(try put().breaks == .beforeAnswer)
        #expect(try stored(sandbox) == 0)
    }

    @Test
    func `A clock that is off shows in the answer and expires requests`() throws {
        let (_, put) = try fault(#"{"clock_offset_s":3600}"#)
        let response = try put()
        #expect(response.errorCode == "RequestTimeExpired")
        #expect(response.field("x-log-time") == "1736847000")
        let message = try #require(response.json?["errorMessage"]?.text)
        #expect(message.contains("Tue, 14 Jan 2025 08:30:00 GMT"))
        #expect(message.contains("Tue, 14 Jan 2025 09:30:00 GMT"))
    }

    @Test
    func `An answer without request id looks like a stranger's`() throws {
        let (_, put) = try fault(#"{"without_request_id":true}"#)
        let response = try put()
        #expect(response.status == 200)
        #expect(response.field("x-log-requestid") == nil)
    }

    @Test
    func `A captive portal answers its own page`() throws {
        let (sandbox, put) = try fault(#"{"status":200,"body":"<p>Log in</p>"}"#)
        let response = try put()
        #expect(response.status == 200)
        #expect(response.text == "<p>Log in</p>")
        #expect(response.field("x-log-requestid") == nil)
        #expect(try stored(sandbox) == 0)
    }

    @Test
    func `A removed fault does nothing any more`() throws {
        let (sandbox, put) = try fault(#"{"status":503}"#)
        #expect(try sandbox.control("DELETE", "/faults/2").status == 404)
        #expect(try sandbox.control("DELETE", "/faults/1").text == "{\"removed\":1}\n")
        #expect(try put().status == 200)
    }

    @Test
    func `The control requests themselves are never hit`() throws {
        let (sandbox, _) = try fault(#"{"status":503}"#)
        #expect(try sandbox.control("GET", "/stats").status == 200)
        #expect(try sandbox.control("GET", "/logs").status == 200)
    }

    @Test(
        "A fault that makes no sense is refused with a reason",
        arguments: [
            ("", "not JSON"), ("[]", "an object is expected"), ("{}", "The fault has no effect"),
            (#"{"status":99}"#, "200 to 599"), (#"{"status":"503"}"#, "a whole number is expected"),
            (#"{"status":503.5}"#, "a whole number"), (#"{"status":503,"count":0}"#, "1 to"),
            (#"{"status":503,"fraction":0}"#, "never happen"),
            (#"{"status":503,"fraction":1.5}"#, "0.0 to 1.0"),
            (#"{"reset":"yes"}"#, "true or false"),
            (#"{"status":503,"reset":true}"#, "Only one of"),
            (#"{"staus":503}"#, "staus is unknown"),
            (#"{"status":503,"status":500}"#, "given twice"),
            (#"{"code":"Strange"}"#, "needs a status"),
            (#"{"status":418}"#, "needs a code"), (#"{"message":"x"}"#, "needs a status or a code"),
            (#"{"latency_ms":0}"#, "1 to 600000"),
            (#"{"latency_ms":5,"store":true}"#, "store needs"),
            (#"{"status":200,"body":"x","code":"y"}"#, "no code"),
            (#"{"content_type":"x","reset":true}"#, "needs a body"),
            (#"{"reset":false}"#, "no effect"),
        ]
    )
    func senseless(_ json: String, _ reason: String) throws {
        let response = try sandbox.control("POST", "/faults", json)
        #expect(response.status == 400)
        #expect(
            response.json?["errorMessage"]?.text?.contains(reason) == true,
            "\(response.text)"
        )
        #expect(try sandbox.control("GET", "/faults").text == "{\"faults\":[]}\n")
    }

    @Test
    func `What is listed can be asked for again`() throws {
        let json = #"""
            {"project":"demo-project","logstore":"app-log","skip":2,"count":5,"fraction":0.5,"status":503,"code":"ServerBusy","message":"m","store":true,"latency_ms":20,"clock_offset_s":-5,"without_request_id":true}
            """#
        let (sandbox, _) = try fault(json)
        let listed = try sandbox.control("GET", "/faults").text
        #expect(listed == "{\"faults\":[{\"id\":1,\"hits\":0," + json.dropFirst() + "]}\n")
    }

    @Test
    func `There is a bound to faults, limits and keys`() throws {
        let sandbox = try Sandbox.forTests {
            $0.capacity.faultsMax = 1
            $0.capacity.rateLimitsMax = 1
            $0.capacity.keysMax = 3
        }
        func post(_ path: String, _ json: String) throws -> Int {
            try sandbox.control("POST", path, json).status
        }
        #expect(try post("/faults", #"{"reset":true}"#) == 200)
        #expect(try post("/faults", #"{"reset":true}"#) == 400)
        #expect(try post("/limits", #"{"logstore":"a1","requests_per_second":1}"#) == 200)
        #expect(try post("/limits", #"{"logstore":"a1","requests_per_second":2}"#) == 200)
        #expect(try post("/limits", #"{"logstore":"a2","requests_per_second":1}"#) == 400)
        #expect(try post("/keys", #"{"access_key_id":"a","access_key_secret":"b"}"#) == 200)
        #expect(try post("/keys", #"{"access_key_id":"c","access_key_secret":"b"}"#) == 400)
    }
}

@Suite struct PoisonTests {
    private static let poison = #"{"key":"bad","code":"InvalidKey","message":"no"}"#

    private func write(_ key: String) -> TestWrite {
        var write = TestWrite()
        write.raw =
            TestGroup(logs: [
                .init(fields: [("fine", "1")]), .init(fields: [(key, "1")]),
            ]).bytes
        return write
    }

    @Test("One log with a poisoned field makes SLS refuse its whole request")
    func refuses() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", Self.poison).status == 200)
        let refused = try sandbox.put(write("bad"))
        #expect(refused.status == 400)
        #expect(refused.errorCode == "InvalidKey")
        #expect(try sandbox.put(write("good")).status == 200)
        let stats = try sandbox.control("GET", "/stats").json
        #expect(stats?["stored"]?["logs"]?.wholeNumber == 2)
    }

    @Test("Poisons are listed and removed")
    func lists() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", #"{"key":"a"}"#).status == 200)
        let text = try sandbox.control("GET", "/poisons").text
        #expect(text.contains(#""key":"a","status":400,"code":"PostBodyInvalid""#), "\(text)")
        #expect(try sandbox.control("DELETE", "/poisons").text == "{\"poisons\":[]}\n")
        #expect(try sandbox.put(write("a")).status == 200)
    }

    @Test(
        "What cannot be a poison is refused",
        arguments: ["{}", #"{"key":"a","code":"Unheard"}"#, #"{"key":"a","status":500}"#]
    )
    func malformed(body: String) throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", body).status == 400)
    }
}

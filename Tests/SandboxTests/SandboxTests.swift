import Crypto
import HTTP
import JSON
import Logs
import SLS
import System
import TestSupport
import Testing

@testable import Sandbox

@Suite struct SandboxTests {
    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox.forTests() }

    @Test(
        "A right write is stored and shown as SLS shows it",
        arguments: [nil, ContentCoding.lz4, .deflate, .zstd],
        [TestWrite.Version.v1, .v4]
    )
    func stored(_ coding: ContentCoding?, _ version: TestWrite.Version) throws {
        var write = TestWrite()
        write.version = version
        write.raw = Vectors.raw
        write.compression = coding
        let response = try sandbox.put(write)
        #expect(response.status == 200)
        #expect(response.body.isEmpty)
        #expect(response.field("x-log-time") == "1736843400")
        #expect(response.field("date") == "Tue, 14 Jan 2025 08:30:00 GMT")
        #expect(response.field("x-log-requestid")?.hasPrefix("67862088") == true)
        let logs = try sandbox.control("GET", "/logs", query: "logstore=app-log")
        #expect(
            logs.text == """
                {"__time__":"1736843400","__topic__":"app","__source__":"10.0.0.1",\
                "__tag__:__pack_id__":"5D2D1E0A5CDB4E36-0","__tag__:env":"prod",\
                "level":"info","msg":"héllo 世界"}
                {"__time__":"1736843401","__time_ns_part__":"123456789","__topic__":"app",\
                "__source__":"10.0.0.1","__tag__:__pack_id__":"5D2D1E0A5CDB4E36-0",\
                "__tag__:env":"prod","empty":""}

                """
        )
    }

    @Test(
        "What the sender signs passes the separate reading",
        arguments: [SigningMethod.v1, .v4(region: "cn-hangzhou")],
        [
            "https://cn-hangzhou.log.aliyuncs.com", "http://localhost:1234",
            "http://127.0.0.1:1234",
        ]
    )
    func sender(_ method: SigningMethod, _ endpoint: String) throws {
        let put = PutLogsRequest(
            endpoint: try Endpoint(parsing: endpoint),
            project: "demo-project",
            logstore: "app-log",
            route: .hash(key: "8a000000000000000000000000000000", sequence: 7),
            compression: .lz4,
            userAgent: "test"
        )
        let body = Vectors.lz4
        let (url, headers) = put.signed(
            body: [body[...]],
            rawBytes: 132,
            by: TestWrite.stsKey,
            method,
            at: TestWrite.noon
        )
        let target = url.dropFirst(url.hasPrefix("https") ? 8 : 7).drop { $0 != "/" }
        let parts = target.split(separator: "?").map(String.init)
        let request = try ReceivedRequest(
            method: "POST",
            path: parts[0],
            query: parts[1],
            fields: headers.map { ($0.name, $0.value) } + [("Content-Length", "\(body.count)")]
        )
        let response = sandbox.answer(request, bytes: body).response
        #expect(response.status == 200, "\(response.text)")
    }

    @Test
    func `A sequence id is stored once on its lane`() throws {
        var write = TestWrite()
        write.path = "/logstores/app-log/shards/route"
        func put(_ key: String, _ sequence: UInt64) throws -> String? {
            write.query = "key=\(key)000000000000000000000000000000&seqid=\(sequence)"
            return try sandbox.put(write).errorCode
        }
        #expect(try put("8a", 1) == nil)
        #expect(try put("8a", 2) == nil)
        #expect(try put("8A", 2) == "InvalidSequenceId")
        #expect(try put("8a", 1) == "InvalidSequenceId")
        #expect(try put("8b", 1) == nil)
        #expect(try put("8a", .max) == nil)
        #expect(try put("8a", .max) == "InvalidSequenceId")
        write.path = "/logstores/other-log/shards/route"
        #expect(try put("8a", 1) == nil)
    }

    @Test
    func `A pack id that came before is counted as a duplicate`() throws {
        var write = TestWrite()
        write.raw = Vectors.raw
        for _ in 0..<3 { #expect(try sandbox.put(write).status == 200) }
        write.path = "/logstores/other-log"
        #expect(try sandbox.put(write).status == 200)
        let stats = try #require(try sandbox.control("GET", "/stats").json)
        #expect(stats["stored"]?["logs"]?.wholeNumber == 8)
        #expect(stats["duplicates"]?["requests"]?.wholeNumber == 2)
        #expect(stats["duplicates"]?["logs"]?.wholeNumber == 4)
        #expect(stats["logstores"]?[0]?["logstore"]?.text == "app-log")
        #expect(stats["logstores"]?[0]?["logs"]?.wholeNumber == 6)
        #expect(stats["answers"]?["200"]?.wholeNumber == 4)
    }

    @Test
    func `Unsigned JSON is stored with the time of its arrival`() throws {
        let body = #"""
            {"__topic__":"app","__source__":"web","__tags__":{"env":"prod"},
             "__logs__":[{"level":"info","msg":"a \"b\"","__time__":"12"},{"x":"\u00e9"}]}
            """#
        let request = try ReceivedRequest(
            method: "POST",
            path: "/logstores/app-log/track",
            query: "APIVersion=0.6.0",
            fields: [("host", "demo-project.localhost")]
        )
        #expect(sandbox.answer(request, bytes: Array(body.utf8)).response.status == 200)
        #expect(
            try sandbox.control("GET", "/logs").text == #"""
                {"__time__":"1736843400","__topic__":"app","__source__":"web","__tag__:env":"prod","level":"info","msg":"a \"b\""}
                {"__time__":"1736843400","__topic__":"app","__source__":"web","__tag__:env":"prod","x":"é"}

                """#
        )
    }

    @Test(
        "Unsigned JSON that SLS does not take is refused",
        arguments: [
            "", "[]", "{}", #"{"__logs__":{}}"#, #"{"__logs__":[1]}"#, #"{"__logs__":[{"a":1}]}"#,
            #"{"__topic__":1,"__logs__":[]}"#, #"{"__tags__":[],"__logs__":[]}"#,
            #"{"__logs__":[]"#,
        ]
    )
    func wrongTrack(_ body: String) throws {
        let request = try ReceivedRequest(
            method: "POST",
            path: "/logstores/app-log/track",
            query: nil,
            fields: [("host", "demo-project.localhost"), ("x-log-apiversion", "0.6.0")]
        )
        let response = sandbox.answer(request, bytes: Array(body.utf8)).response
        #expect(response.status == 400)
        #expect(response.errorCode == "PostBodyInvalid")
    }

    @Test
    func `A signed question proves a key without writing`() throws {
        var question = TestWrite()
        question.method = "GET"
        question.path = "/logstores"
        question.raw = []
        let list = try sandbox.put(question)
        #expect(list.status == 200)
        #expect(list.text == #"{"count":0,"total":0,"logstores":[]}"#)
        question.path = "/logstores/app-log"
        #expect(try sandbox.put(question).json?["logstoreName"]?.text == "app-log")
        question.credential = Credential(accessKeyID: "testkeyid", secret: Secret("wrong"))
        #expect(try sandbox.put(question).errorCode == "SignatureNotMatch")
    }

    @Test
    func `The clock is told without a signature`() throws {
        let response = try Sandbox.forTests().control("GET", "/servertime")
        #expect(response.status == 200)
        #expect(response.field("x-log-time") == "1736843400")
    }

    @Test
    func `Beyond its rate a logstore refuses with a shard's quota, a project with its own`() throws
    {
        let moment = Locked(Moment(nanoseconds: 0))
        let sandbox = try Sandbox.forTests { $0.moment = { moment.withLock { $0 } } }
        let set = try sandbox.control(
            "POST",
            "/limits",
            #"{"logstore":"app-log","requests_per_second":2}"#
        )
        #expect(set.status == 200)
        let write = TestWrite()
        let codes = try (0..<4).map { _ in try sandbox.put(write).errorCode }
        #expect(codes == [nil, nil, "ShardWriteQuotaExceed", "ShardWriteQuotaExceed"])
        var other = write
        other.path = "/logstores/other-log/shards/lb"
        #expect(try sandbox.put(other).status == 200)
        moment.withLock { $0 = Moment(nanoseconds: 500_000_000) }
        #expect(try sandbox.put(write).status == 200)
        #expect(try sandbox.put(write).status == 403)
        #expect(try sandbox.control("DELETE", "/limits").status == 200)
        let project = #"{"project":"demo-project","bytes_per_second":20}"#
        #expect(try sandbox.control("POST", "/limits", project).status == 200)
        #expect(try sandbox.put(write).status == 200)
        #expect(try sandbox.put(write).status == 200)
        let refused = try sandbox.put(write)
        #expect(refused.status == 403)
        #expect(refused.errorCode == "WriteQuotaExceed")
        #expect(refused.json?["errorMessage"]?.text == "Project write quota exceed: inflow")
    }

    @Test
    func `The same seed gives the same request ids`() throws {
        func ids(_ seed: UInt64) throws -> [String?] {
            let sandbox = try Sandbox.forTests { $0.seed = seed }
            return try (0..<5).map { _ in
                try sandbox.control("GET", "/servertime").field("x-log-requestid")
            }
        }
        let first = try ids(1)
        #expect(Set(first).count == 5)
        #expect(try ids(1) == first)
        #expect(try ids(2) != first)
    }

    @Test
    func `Keys come and go, and are never shown`() throws {
        var write = TestWrite()
        write.credential = Credential(accessKeyID: "new", secret: Secret("hush-hush"))
        #expect(try sandbox.put(write).status == 401)
        let key = #"{"access_key_id":"new","access_key_secret":"hush-hush"}"#
        let added = try sandbox.control("POST", "/keys", key)
        #expect(added.status == 200)
        #expect(try sandbox.put(write).status == 200)
        #expect(!added.text.contains("hush"))
        #expect(added.text.contains(#""access_key_id":"new""#))
        #expect(try sandbox.control("DELETE", "/keys", query: "access_key_id=new").status == 200)
        #expect(try sandbox.put(write).errorCode == "Unauthorized")
        #expect(try sandbox.control("DELETE", "/keys", query: "access_key_id=new").status == 404)
    }
}

import Configuration
import Crypto
import HTTP
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct ElasticTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let key = "elastic-0123456789abcdef"
    private static let two = """
        {"create":{"_index":"app-2025.01.14","_id":"7"}}
        {"message":"one"}
        {"index":{"_index":"web"}}
        {"message":"two"}

        """

    @Test("Documents are stored in one transaction, each with its index as topic, and each is told")
    func stored() throws {
        let answer = try end.client.post("/_bulk", Self.two.utf8)
        #expect(answer.status == 200)
        #expect(answer["x-elastic-product"] == "Elasticsearch")
        #expect(answer["content-type"] == "application/json")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        let start =
            #"{"took":0,"errors":false,"items":[{"create":{"_index":"app-2025.01.14","_id":"7","#
            + #""_version":1,"result":"created","status":201}},{"index":{"_index":"web","_id":""#
        #expect(answer.text.hasPrefix(start), "\(answer.text)")
        #expect(answer.text.hasSuffix(#"-1","_version":1,"result":"created","status":201}}]}"#))
        #expect(end.queue.identities.count == 1)
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["app", "web"])
        #expect(end.queue.stored.map(\.stream.logstore) == ["app-log", "app-log"])
        let logs = try end.queue.stored.map { try $0.entries()[0].fields.map(\.value) }
        #expect(logs == [["7", "one"], ["two"]])
        #expect(end.shared.counters.accepted.first { $0.route == "elastic" }?.counts[.logs] == 2)
    }

    @Test(
        "The path may name the index, also one that is called as another path here",
        arguments: [
            "/logs/_bulk", "/logs/_bulk/?pipeline=x", "/l%6Fgs/_bulk?refresh=true",
            "/logs/_doc/_bulk", "/logs/log/_bulk",
        ]
    )
    func path(path: String) throws {
        let body = Array("{\"index\":{}}\n{\"a\":\"b\"}".utf8)
        for method in ["POST", "PUT"] {
            let answer = try end.client.send(method, path, body)
            #expect(answer.status == 200 && answer.text.contains(#""_index":"logs""#))
            #expect(end.queue.stored.last?.stream.trailer.topic == "logs")
        }
    }

    @Test("Where every logstore is taken, the index names it; a header is stronger")
    func logstores() throws {
        let other = ["x-log-project": "other-project"] as KeyValuePairs
        #expect(try end.client.post("/_bulk", Self.two.utf8, other).status == 200)
        #expect(end.queue.stored.map(\.stream.logstore) == ["app", "web"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["given", "given"])
        let named = ["x-log-project": "other-project", "x-log-logstore": "one"] as KeyValuePairs
        #expect(try end.client.post("/_bulk", Self.two.utf8, named).status == 200)
        // Nothing tells them apart there.
        #expect(end.queue.stored.dropFirst(2).map(\.stream.logstore) == ["one"])
        #expect(end.queue.stored.last?.logs.count == 2)
    }

    @Test("What cannot be written is told item by item, and the others are stored")
    func items() throws {
        let body = """
            {"delete":{"_index":"a","_id":"1"}}
            {"index":{"_index":"Upper","_id":"2"}}
            {}
            {"index":{"_index":"a\\n","_id":"3"}}
            {}
            {"create":{"_index":"aa","_id":"4"}}
            {"x":
            {"create":{"_index":"aa","_id":"5"}}
            {"x":"y"}
            """
        let fields = ["x-log-project": "other-project"] as KeyValuePairs
        let answer = try end.client.post(
            "/_bulk?filter_path=errors,items.*.error,items.*.status",
            body.utf8,
            fields
        )
        #expect(answer.status == 200)
        for part in [
            #"{"errors":true,"items":[{"delete":{"status":400,"error":{"type":"illegal_argument_exception","#,
            #"{"index":{"status":404,"error":{"type":"index_not_found_exception","reason":""#,
            #"{"index":{"status":400,"error":{"type":"invalid_index_name_exception","reason":""#,
            #"{"create":{"status":400,"error":{"type":"illegal_argument_exception","reason":"the JSON ends"#,
            #"{"create":{"status":201}}]}"#,
        ] { #expect(answer.text.contains(part), "\(answer.text)") }
        #expect(end.queue.stored.count == 1)
        #expect(try end.queue.stored[0].entries()[0].fields.map(\.value) == ["5", "y"])
        let none = try end.client.post("/_bulk", #"{"delete":{"_index":"a"}}"#.utf8)
        #expect(none.status == 200 && none.text.contains(#""errors":true"#))
        #expect(end.queue.stored.count == 1)
    }

    @Test(
        "An answer has the members that were asked for, and no empty ones",
        arguments: [
            ("errors", #"{"errors":false}"#), ("took,errors", #"{"took":0,"errors":false}"#),
            ("errors,items.*.error", #"{"errors":false}"#), ("items.*.error.type", "{}"),
            ("items.*.status", #"{"items":[{"create":{"status":201}},{"index":{"status":201}}]}"#),
            (
                "errors,items.*.error,items.*.status",
                #"{"errors":false,"items":[{"create":{"status":201}},{"index":{"status":201}}]}"#
            ),
            (
                "items.create.result,items.*._index",
                #"{"items":[{"create":{"_index":"app-2025.01.14","result":"created"}},"#
                    + #"{"index":{"_index":"web","result":"created"}}]}"#
            ),
        ]
    )
    func filtered(path: String, text: String) throws {
        let answer = try end.client.post("/_bulk?filter_path=\(path)", Self.two.utf8)
        #expect(answer.text == text)
        let escaped = path.split(separator: ",").joined(separator: "%2C")
        #expect(try end.client.post("/_bulk?filter_path=\(escaped)", Self.two.utf8).text == text)
    }

    @Test("Ten thousand documents have ten thousand answers")
    func many() throws {
        let body = String(repeating: "{\"create\":{}}\n{\"a\":\"b\"}\n", count: 10_000)
        let answer = try end.client.post("/i/_bulk?filter_path=items.*.status", body.utf8)
        let item = #"{"create":{"status":201}}"#
        #expect(
            answer.body.count == 10_000 * (item.utf8.count + 1) - 1 + #"{"items":[]}"#.utf8.count
        )
        #expect(end.queue.stored.first?.logs.count == 10_000)
    }

    @Test(
        "Beyond that an answer is brief, whatever the request, and a small one cannot make it large"
    )
    func brief() throws {
        let good = String(repeating: "{\"create\":{\"_id\":\"7\"}}\n{\"a\":\"b\"}\n", count: 10_000)
        let bad = String(repeating: "{\"create\":{}}\nx\n", count: 2000)
        let whole = try end.client.post("/i/_bulk", good.utf8).text
        #expect(whole.hasPrefix(#"{"took":0,"errors":false,"items":[{"create":{"_index":"i","#))
        let answer = try end.client.post("/i/_bulk", (good + bad).utf8).text
        #expect(answer.hasPrefix(#"{"took":0,"errors":true,"items":[{"create":{"status":201}},"#))
        #expect(answer.hasSuffix(#",{"create":{"status":400}}]}"#))
        #expect(answer.ranges(of: #"{"create":{"status":400"#).count == 2000)
        #expect(answer.ranges(of: #""error":{"type""#).count == 1000)
    }

    @Test("Names come back as they were sent, whatever is in them")
    func quoted() throws {
        for id in ["a\"b\\c\n\r\td\u{1}\u{7F}", "ü\u{85}\u{2028}\"", "plain"] {
            let answer = try end.client.post(
                "/i/_bulk",
                "{\"create\":{\"_id\":\(jsonQuoted(id))}}\n{\"a\":\"b\"}\n".utf8
            )
            #expect(answer.text.contains("\"_id\":\(jsonQuoted(id)),"), "\(answer.text)")
        }
    }

    @Test("Names that grow when they are told make an answer brief, and not enormous")
    func escaped() throws {
        let name = String(repeating: "\u{7F}", count: 512)
        let line = "{\"delete\":{\"_index\":\"\(name)\",\"_id\":\"\(name)\"}}\n"
        let answer = try end.client.post("/_bulk", String(repeating: line, count: 2000).utf8)
        #expect(answer.status == 200)
        #expect(answer.body.count < 400_000, "\(answer.body.count)")
        #expect(answer.text.ranges(of: #"{"delete":{"status":400"#).count == 2000)
    }

    @Test("An answer that would be too large is refused before anything is stored")
    func answerTooLarge() throws {
        let end = try DeviceListener { $0.http.answerBytes = 64 << 10 }
        let document = "{\"create\":{}}\n{\"a\":\"b\"}\n"
        let fitting = String(repeating: document, count: 2000)
        #expect(try end.client.post("/i/_bulk", fitting.utf8).status == 200)
        #expect(end.queue.stored.count == 1)
        let answer = try end.client.post("/i/_bulk", (fitting + fitting).utf8)
        #expect(answer.status == 413)
        #expect(answer.text.contains("limits.answer"))
        #expect(answer.text.contains("content_too_long_exception"))
        #expect(end.queue.stored.count == 1)
        let none = try end.client.post("/i/_bulk?filter_path=errors", (fitting + fitting).utf8)
        #expect(none.text == #"{"errors":false}"#)
    }

    @Test("An answer that is owed has its room before the logs are stored")
    func answerReserved() throws {
        let end = try DeviceListener {
            $0.http.answerBytes = 100_000
            $0.http.unsentAnswerBytes = 150_000
        }
        let body = String(repeating: "{\"create\":{}}\n{\"a\":\"b\"}\n", count: 800)
        end.queue.hold()
        let first = try end.client.opened(
            sending: "POST /i/_bulk HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        #expect(eventually { end.server.counters[.heldAnswers] > 80_000 })
        let second = try end.client.post("/i/_bulk", body.utf8)
        #expect(second.status == 503)
        #expect(second["retry-after"] == "1")
        #expect(end.queue.stored.count == 1)
        end.queue.release()
        #expect(first.rest().hasPrefix("HTTP/1.1 200 "))
        #expect(eventually { end.server.counters[.heldAnswers] == 0 })
    }

    @Test(
        "Errors of the whole request are Elasticsearch's",
        arguments: [
            ("/_bulk", "{\"index\":{}}\n{}", 400, "illegal_argument_exception", "names no index"),
            (
                "/_bulk", "nonsense", 400, "illegal_argument_exception",
                "Malformed action/metadata line [1]"
            ),
            ("/_bulk", "", 400, "illegal_argument_exception", "has no action"),
            ("/%0A/_bulk", "", 400, "invalid_index_name_exception", "1 to 128 bytes"),
        ]
    )
    func refused(path: String, body: String, status: Int, type: String, reason: String) throws {
        let answer = try end.client.post(path, body.utf8)
        #expect(answer.status == status && answer["x-elastic-product"] == "Elasticsearch")
        let cause = #"{"type":"\#(type)","reason":""#
        #expect(answer.text.hasPrefix(#"{"error":{"root_cause":["# + cause), "\(answer.text)")
        #expect(answer.text.hasSuffix(#"},"status":\#(status)}"#) && answer.text.contains(reason))
    }

    @Test("A queue that takes nothing makes clients try again")
    func busy() throws {
        end.queue.say(.full)
        let answer = try end.client.post("/_bulk", Self.two.utf8)
        #expect(answer.status == 503 && answer["retry-after"] == "1")
        #expect(answer.text.contains(#""type":"unavailable_shards_exception""#))
        #expect(answer["x-elastic-product"] == "Elasticsearch")
    }

    @Test("A key is the secret of an API key, or all of it, or a password")
    func keys() throws {
        let end = try DeviceListener(keys: "{ name: beat, key: '\(Self.key)' }")
        let pair = Digest.base64(Array("id:\(Self.key)".utf8))
        for value in [
            "ApiKey \(pair)", "ApiKey \(Self.key)", "Basic \(pair)", "Bearer \(Self.key)",
        ] {
            let answer = try end.client.post("/_bulk", Self.two.utf8, ["authorization": value])
            #expect(answer.status == 200, "\(value)")
        }
        let wrong = Digest.base64(Array("\(Self.key):wrong".utf8))
        for value in ["ApiKey \(wrong)", "ApiKey", "Digest \(pair)"] {
            let answer = try end.client.post("/_bulk", Self.two.utf8, ["authorization": value])
            #expect(answer.status == 401 && answer.text.contains("security_exception"), "\(value)")
        }
        #expect(try end.client.get("/").status == 200)
    }

    @Test("A key that could be an id and a secret in base64 is a key all the same")
    func ambiguous() throws {
        // `0006` at a multiple of four has a colon in what it decodes to.
        let keys = ["abcd0006abcdef0123456789", "0006000600060006"]
        let end = try DeviceListener(
            keys: "{ name: first, key: '\(keys[0])' }",
            "{ name: second, key: '\(keys[1])' }"
        )
        for (key, name) in zip(keys, ["first", "second"]) {
            let pair = Digest.base64(Array("id:\(key)".utf8))
            for value in ["ApiKey \(key)", "ApiKey \(pair)"] {
                let fields = ["authorization": value] as KeyValuePairs
                #expect(try end.client.post("/_bulk", Self.two.utf8, fields).status == 200)
            }
            #expect(end.shared.door.counts.first { $0.name == name }?.taken[.requests] == 2)
        }
        let unknown = ["authorization": "ApiKey abcd0006abcdef0123456780"] as KeyValuePairs
        #expect(try end.client.post("/_bulk", Self.two.utf8, unknown).status == 401)
    }

    @Test("Documents of an index too many are told to come again, and the others are stored")
    func crowded() throws {
        var body = (0..<1024).map { "{\"index\":{\"_index\":\"i\($0)\"}}\n{}\n" }.joined()
        body += "{\"create\":{\"_index\":\"o\\\"ne\",\"_id\":\"7\"}}\n{\"x\":\n"
        body += "{\"index\":{\"_index\":\"i7\"}}\n{}\n"
        let answer = try end.client.post("/_bulk", body.utf8)
        #expect(answer.status == 200 && answer.text.contains(#""errors":true"#))
        let item =
            #"{"create":{"_index":"o\"ne","_id":"7","status":429,"error":{"type":"es_rejected_execution_exception","#
        #expect(answer.text.ranges(of: item).count == 1, "\(answer.text.suffix(600))")
        #expect(answer.text.ranges(of: #""status":201"#).count == 1025)
        #expect(end.queue.stored.reduce(0) { $0 + $1.logs.count } == 1025)
    }

    private static let v8 = "application/vnd.elasticsearch+json; compatible-with=8"

    @Test("Clients find a node that they know, and nothing to set up")
    func handshake() throws {
        let root = try end.client.get("/", ["accept": Self.v8])
        #expect(root.status == 200 && root["x-elastic-product"] == "Elasticsearch")
        #expect(root["content-type"] == "application/vnd.elasticsearch+json;compatible-with=8")
        #expect(root.text.contains(#""version":{"number":"8."#))
        #expect(root.text.contains(#""build_flavor":"default""#))
        #expect(root.text.contains(#""tagline":"You Know, for Search""#))
        let head = try end.client.send("HEAD", "/")
        #expect(head.status == 200 && head["x-elastic-product"] == "Elasticsearch")
        let license = try end.client.get("/_license?human=false").text
        #expect(license.hasPrefix(#"{"license":{"status":"active","#))
        #expect(try end.client.get("/_xpack").text.contains(#""ilm":{"available":false"#))
        #expect(try end.client.get("/_cluster/health").text.contains(#""status":"green""#))
        for path in ["/_ilm/policy/filebeat", "/_index_template/x", "/_template/x", "/_nodes/http"]
        {
            let answer = try end.client.get(path)
            #expect(answer.status == 404 && answer["x-elastic-product"] == "Elasticsearch")
            #expect(answer.text.contains("only _bulk and single documents"))
            #expect(answer.text.hasSuffix("404}"))
        }
        let put = try end.client.send("PUT", "/_ilm/policy/filebeat", Array("{}".utf8))
        #expect(put.status == 405 && put["x-elastic-product"] == "Elasticsearch")
        #expect(try end.client.get("/_bulk").status == 405)
        #expect(try end.client.post("/a/b/c/_bulk", Self.two.utf8).status == 404)
        #expect(try end.client.post("/a//_bulk", Self.two.utf8).status == 404)
    }

    @Test(
        "Days and months at the end of an index are none of its tag's",
        arguments: [
            ("app-2025.01.14", "app"), ("app-2025.01", "app"), ("app_2025-01-14", "app"),
            ("app.2025.01.14", "app"), ("app-2025", "app-2025"), ("2025.01.14", "2025.01.14"),
            ("-2025.01.14", "-2025.01.14"), ("app-25.01.14", "app-25.01.14"), ("a", "a"),
            ("filebeat-8.19.0", "filebeat-8.19.0"), ("app-2025.01.1x", "app-2025.01.1x"),
            ("app-2025.01.14.08", "app"), ("app-2025.01.14-000001", "app"),
            ("app-2025.01-000001", "app"), ("app_2025-12-31-23", "app"), ("app-2025.53", "app"),
            ("app-000001", "app-000001"), ("-2025.01.14.08", "-2025.01.14.08"),
            ("app-2025.13.14", "app-2025.13.14"), ("app-2025.12.32", "app-2025.12.32"),
            ("app-2025.12.31.24", "app-2025.12.31.24"), ("app-2025.00", "app-2025.00"),
            ("app-2025.54", "app-2025.54"), ("app-2025.01.14-00001", "app-2025.01.14-00001"),
        ]
    )
    func tags(index: String, tag: String) {
        #expect(ElasticIndex.tag(of: index) == tag)
    }
}

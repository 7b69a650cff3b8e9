import Configuration
import Crypto
import HTTP
import Ingest
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SplunkTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let key = "splunk-0123456789abcdef"
    private static let success = #"{"text":"Success","code":0}"#

    private func withKey() throws -> DeviceListener {
        try DeviceListener(
            keys: "{ name: agent, key: '\(Self.key)', destinations: [app] }"
        )
    }

    @Test(
        "Events are stored wherever Splunk takes them",
        arguments: ["", "/event", "/event/1.0"]
    )
    func events(path: String) throws {
        let body = #"{"event":"a","time":"1.5"}{"event":{"k":"v"},"fields":{"f":1}}"#
        let answer = try end.client.post("/services/collector" + path, body.utf8)
        #expect(answer.status == 200 && answer.text == Self.success)
        #expect(answer["content-type"] == "application/json")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        let batch = try #require(end.queue.stored.first)
        #expect(batch.stream.destination == "app" && batch.stream.logstore == "app-log")
        #expect(batch.stream.trailer.topic == "splunk" && batch.stream.trailer.source == "")
        let logs = try batch.fields()
        #expect(logs == [["message=a", "__original_time__=1.5"], ["k=v", "f=1"]])
        #expect(end.shared.counters.accepted.first { $0.route == "splunk" }?.counts[.logs] == 2)
    }

    @Test("An event's index is its topic, its host the source, and the rest are tags")
    func origins() throws {
        let long = String(repeating: "h", count: 129)
        let body =
            #"{"event":1,"host":"web-1","source":"/a.log","sourcetype":"_json","index":"shop.cart"}"#
            + #"{"event":2,"sourcetype":"aws:trail"}"#
            + #"{"event":3,"host":"\#(long)","index":"shop.cart"}"#
        let fields = ["x-log-project": "other-project"] as KeyValuePairs
        #expect(try end.client.post("/services/collector", body.utf8).status == 200)
        let streams = end.queue.stored.map(\.stream)
        #expect(end.queue.identities.count == 1)
        #expect(streams.map(\.trailer.topic) == ["shop.cart", "aws:trail", "shop.cart"])
        #expect(streams.map(\.trailer.source) == ["web-1", "", ""])
        let tags = streams.map { $0.trailer.tags.map { "\($0.key)=\($0.value)" } }
        #expect(
            tags == [
                ["index=shop.cart", "source=/a.log", "sourcetype=_json", "env=prod"],
                ["sourcetype=aws:trail", "env=prod"],
                ["host=\(long)", "index=shop.cart", "env=prod"],
            ]
        )
        // Where the destination takes every logstore, the index names it; its own topic is
        // stronger.
        #expect(try end.client.post("/services/collector", body.utf8, fields).status == 200)
        let others = end.queue.stored.suffix(3).map(\.stream)
        #expect(others.map(\.logstore) == ["shop", "splunk", "shop"])
        #expect(others.map(\.trailer.topic) == ["given", "given", "given"])
        let named = ["x-log-project": "other-project", "x-log-logstore": "one"] as KeyValuePairs
        #expect(try end.client.post("/services/collector", body.utf8, named).status == 200)
        #expect(end.queue.stored.suffix(3).map(\.stream.logstore) == ["one", "one", "one"])
    }

    @Test("A fleet's origins can be folded into fields")
    func folded() throws {
        let end = try DeviceListener(DeviceListener.destination("fold_tags: [source]"))
        let body = #"{"event":1,"source":"a"}{"event":2,"source":"b"}"#
        #expect(try end.client.post("/services/collector", body.utf8).status == 200)
        let streams = Set(end.queue.stored.map(\.stream))
        #expect(streams.count == 1)
        let fields = try end.queue.stored.flatMap { try $0.entries() }.map(\.fields[0])
        #expect(fields.map { "\($0.key)=\($0.value)" } == ["__tag__:source=a", "__tag__:source=b"])
    }

    @Test(
        "Raw bodies are lines, and the query tells their origin",
        arguments: ["/raw", "/raw/1.0"]
    )
    func raw(path: String) throws {
        let query = "?channel=1&host=h&source=a%20b&sourcetype=t&index=i"
        let channel = "00872DC6-AC83-4EDE-8AFE-8413C3825C4C"
        let fields = ["x-splunk-request-channel": channel] as KeyValuePairs
        let answer = try end.client.post(
            "/services/collector\(path)\(query)",
            "one\r\n\ntwo".utf8,
            fields
        )
        #expect(answer.status == 200)
        #expect(answer.text.hasPrefix(#"{"text":"Success","code":0,"ackId":"#))
        let batch = try #require(end.queue.stored.first)
        #expect(try batch.entries().map { $0.fields[0].value } == ["one", "two"])
        #expect(batch.stream.trailer.topic == "i" && batch.stream.trailer.source == "h")
        #expect(
            batch.tags
                == ["index=i", "source=a b", "sourcetype=t", "env=prod"]
        )
        #expect(try end.client.post("/services/collector/raw", "x".utf8).status == 200)
        #expect(end.queue.stored.last?.stream.trailer.topic == "splunk")
    }

    private static let wrong: [(path: String, body: String, code: Int, start: String)] = [
        ("", "", 5, #"No data","code":5,"reason":""#),
        ("", #"{"event":1}{"#, 6, #"Invalid data format","code":6,"invalid-event-number":1,"#),
        (
            "", #"{"event":1}{}"#, 12,
            #"Event field is required","code":12,"invalid-event-number":1"#
        ),
        ("", #"{"event":""}"#, 13, #"Event field cannot be blank","code":13,"invalid-event"#),
        ("", #"{"event":1,"fields":7}"#, 15, #"Error in handling indexed fields","code":15,"#),
        ("", #"{"event":1}{"event":2,"index":"a\n"}"#, 7, #"Incorrect index","code":7,"invalid"#),
        ("/raw", "\n", 5, #"No data","code":5,"#),
        ("/raw?index=%zz", "a", 6, #"Invalid data format","code":6,"reason":"the query"#),
        ("/raw?index=%0A", "a", 7, #"Incorrect index","code":7,"reason":"an index has"#),
        ("/ack", #"{"acks":[0]}"#, 10, #"Data channel is missing","code":10,"#),
        ("/ack?channel=", #"{"acks":[0]}"#, 10, #"Data channel is missing","code":10,"#),
        ("/ack?channel=c", #"{"acks":[-1]}"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", #"{"acks":["1"]}"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", #"{"acks":[18446744073709551616]}"#, 6, #"Invalid data format","#),
        ("/ack?channel=c", #"{"acks":7}"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", #"{}"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", #"[1]"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", #"{"acks":[1]}{}"#, 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", "", 6, #"Invalid data format","code":6,"#),
        ("/ack?channel=c", "{\"acks\":[7],\"x\":\"\u{1}\"}", 6, #"Invalid data format","code":6"#),
    ]

    @Test("Mistakes have Splunk's codes, and nothing is stored", arguments: 0..<wrong.count)
    func mistakes(index: Int) throws {
        let (path, body, code, start) = Self.wrong[index]
        let answer = try end.client.post("/services/collector" + path, body.utf8)
        #expect(answer.status == 400)
        #expect(answer.text.hasPrefix(#"{"text":""# + start), "\(answer.text)")
        #expect(answer.text.contains(#""code":\#(code),"#))
        #expect(end.queue.stored.isEmpty)
    }

    @Test("Damage whose repair needs too much room is too large, and not wrong")
    func repairTooLarge() throws {
        let damage = [UInt8](repeating: 0xFF, count: 5 << 20 + 1)
        let body = Array(#"{"event":""#.utf8) + damage + Array(#""}"#.utf8)
        let answer = try end.client.post("/services/collector", body)
        #expect(answer.status == 413, "\(answer.text)")
        #expect(answer.text.contains(#""code":27,"#), "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
    }

    @Test(
        "An index of lines that is none is refused also where a header says where they go",
        arguments: ["a%0Ab", String(repeating: "a", count: 129)]
    )
    func named(index: String) throws {
        let fields = ["x-log-logstore": "app-log"] as KeyValuePairs
        let path = "/services/collector/raw?index="
        let answer = try end.client.post(path + index, "a".utf8, fields)
        #expect(answer.status == 400 && answer.text.contains(#""code":7,"#), "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
        #expect(try end.client.post(path + "Upper", "a".utf8, fields).status == 200)
        #expect(end.queue.stored.first?.stream.trailer.topic == "Upper")
    }

    @Test("A place that is not here is an incorrect index")
    func nowhere() throws {
        let start = #"{"text":"Incorrect index","code":7,"#
        for field in [["x-log-project": "nobodys"], ["x-log-logstore": "nope"]] as [KeyValuePairs] {
            let answer = try end.client.post("/services/collector", "{}".utf8, field)
            #expect(answer.status == 400)
            #expect(answer.text.hasPrefix(start), "\(answer.text)")
        }
        let body = #"{"event":1}{"event":2,"index":"Upper"}"#
        let fields = ["x-log-project": "other-project"] as KeyValuePairs
        let answer = try end.client.post("/services/collector", body.utf8, fields)
        #expect(answer.text.hasPrefix(start + #""invalid-event-number":1,"#))
        #expect(end.queue.stored.isEmpty)
    }

    @Test("A key is Splunk's token or a password, and what is wrong with it has three codes")
    func keys() throws {
        let end = try withKey()
        let body = Array(#"{"event":1}"#.utf8)
        let basic = "Basic \(Digest.base64(Array("x:\(Self.key)".utf8)))"
        for value in ["Splunk \(Self.key)", "splunk  \(Self.key)", basic] {
            let answer = try end.client.post("/services/collector", body, ["authorization": value])
            #expect(answer.status == 200, "\(value)")
        }
        let none = try end.client.post("/services/collector", body)
        #expect(none.status == 401)
        #expect(none.text.hasPrefix(#"{"text":"Token is required","code":2,"#))
        let other = try end.client.post("/services/collector", body, ["authorization": Self.key])
        #expect(other.status == 401)
        #expect(other.text.hasPrefix(#"{"text":"Invalid authorization","code":3,"#))
        let another = "Splunk 00000000-0000-0000-0000-000000000000"
        let wrong = ["authorization": another] as KeyValuePairs
        let unknown = try end.client.post("/services/collector", body, wrong)
        #expect(unknown.status == 403 && unknown["www-authenticate"] == nil)
        #expect(unknown.text.hasPrefix(#"{"text":"Invalid token","code":4,"#))
        let elsewhere: KeyValuePairs = [
            "authorization": "Splunk \(Self.key)", "x-log-project": "other-project",
        ]
        #expect(try end.client.post("/services/collector", body, elsewhere).status == 403)
        let refused = end.shared.counters.refused.map { ($0.kind.status, $0.count) }
        #expect(refused.map(\.0) == [401, 403] && refused.map(\.1) == [2, 2])
    }

    @Test(
        "A queue that takes nothing is busy, which makes clients try again",
        arguments: [QueueAdmission.full, .diskFull, .failing, .stopping]
    )
    func busy(admission: QueueAdmission) throws {
        end.queue.say(admission)
        let answer = try end.client.post("/services/collector", #"{"event":1}"#.utf8)
        #expect(answer.status == 503 && answer["retry-after"] == "1")
        #expect(answer.text.hasPrefix(#"{"text":"Server is busy","code":9,"#))
    }

    @Test("A body that is too large is 413")
    func tooLarge() throws {
        let end = try DeviceListener { $0.bodyBytes = 4 }
        let answer = try end.client.post("/services/collector", #"{"event":1}"#.utf8)
        #expect(answer.status == 413)
        #expect(answer.text.hasPrefix(#"{"text":"Request entity too large","code":27,"#))
    }

    @Test("Clients find the collector well, and those that ask for its options are answered 200")
    func probes() throws {
        let end = try withKey()
        for path in ["/services/collector/health", "/services/collector/health/1.0"] {
            let answer = try end.client.get(path)
            #expect(answer.status == 200)
            #expect(answer.text == #"{"text":"HEC is healthy","code":17}"#)
        }
        // As Docker's log driver begins.
        let options = try end.client.send("OPTIONS", "/services/collector/event/1.0")
        #expect(options.status == 200)
        let allowed = options["access-control-allow-headers"]
        #expect(allowed?.contains("x-splunk-request-channel") == true)
        let got = try end.client.get("/services/collector")
        #expect(got.status == 405 && got["allow"] == "POST, OPTIONS")
        #expect(try end.client.get("/services/collector/nothing").status == 404)
        #expect(try end.client.get("/services/collectors").status == 404)
    }
}

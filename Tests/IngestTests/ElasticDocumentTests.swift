import Ingest
import Logs
import Queue
import System
import TestSupport
import Testing

/// Elasticsearch's requests with one document each.
@Suite(.timeLimit(.minutes(10))) struct ElasticDocumentTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    private static let seconds = UInt32(WallTime.now.seconds - 3600)
    private static let document = Array(
        """
        {
          "@timestamp": \(seconds).5,
          "message": "one",
          "nested": { "k": [1, 2] }
        }

        """.utf8
    )

    @Test(
        "A document is a log, and is answered as Elasticsearch does",
        arguments: [
            ("POST", "/app-2025.01.14/_doc", nil), ("POST", "/app-2025.01.14/_doc/?refresh", nil),
            ("PUT", "/app-2025.01.14/_doc/a%20b", "a b"), ("POST", "/app/_doc/7", "7"),
            ("PUT", "/app/_create/7", "7"), ("POST", "/app/_create/7?pipeline=x", "7"),
            ("PUT", "/logs/_doc/7", "7"),
        ] as [(String, String, String?)]
    )
    func stored(method: String, path: String, id: String?) throws {
        let answer = try end.client.send(method, path, Self.document)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer["x-elastic-product"] == "Elasticsearch")
        let receipt = try #require(answer["x-log-requestid"])
        let index = path.split(separator: "/")[0]
        #expect(
            answer.text
                == #"{"_index":"\#(index)","_id":"\#(id ?? receipt)","_version":1,"result":"created","#
                + #""_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1}"#
        )
        let batch = try #require(end.queue.stored.first)
        #expect(batch.stream.trailer.topic == (index == "logs" ? "logs" : "app"))
        let entry = try batch.entries()[0]
        #expect(entry.time == LogTime(seconds: Self.seconds, nanoseconds: 500_000_000))
        let fields = entry.texts
        let own = id.map { ["_id=\($0)"] } ?? []
        #expect(fields == own + ["message=one", #"nested={"k":[1,2]}"#])
        #expect(end.shared.counters.accepted.first { $0.route == "elastic" }?.counts[.logs] == 1)
    }

    @Test("Where every logstore is taken, the index names it; a header is stronger")
    func logstores() throws {
        let other = ["x-log-project": "other-project"] as KeyValuePairs
        let named = ["x-log-project": "other-project", "x-log-logstore": "one"] as KeyValuePairs
        #expect(try end.client.post("/shop.cart/_doc", Self.document, other).status == 201)
        #expect(try end.client.post("/shop.cart/_doc", Self.document, named).status == 201)
        #expect(end.queue.stored.map(\.stream.logstore) == ["shop", "one"])
    }

    @Test("A document that comes again with its id and its content is recognised")
    func repeated() throws {
        func digest(_ path: String, _ body: [UInt8] = Self.document) throws -> [UInt8]? {
            #expect(try end.client.post(path, body).status == 201)
            return end.queue.identities.last??.digest
        }
        let first = try #require(try digest("/app/_doc/7"))
        #expect(try digest("/app/_doc/7?refresh=true") == first)
        #expect(try digest("/app/_create/7") == first)
        #expect(try digest("/app/_doc/8") != first)
        #expect(try digest("/web/_doc/7") != first)
        #expect(try digest("/app/_doc/7", Array(#"{"a":"b"}"#.utf8)) != first)
        // Without an id it may be another one with the same content.
        #expect(try digest("/app/_doc") == nil)
        let key: KeyValuePairs = ["idempotency-key": "k"]
        for method in ["POST", "PUT"] {
            _ = try end.client.send(method, "/app/_doc/7", Self.document, key)
        }
        let named = end.queue.identities.suffix(2).map { $0?.digest }
        #expect(named[0] != nil && named[0] != first && named[0] == named[1])
        // The answer to a repetition is that of the first time, its made up id too.
        let receipt = Array("0123456789ABCDEF01234567".utf8)
        end.queue.outcome.withLock { $0 = .repeated(receipt: receipt, logs: 1) }
        let again = try end.client.post("/app/_doc", Self.document, key)
        #expect(again.status == 201)
        #expect(again.text.contains(#""_id":"0123456789ABCDEF01234567""#))
    }

    @Test(
        "What cannot be written is an error in Elasticsearch's shape",
        arguments: [
            ("/app/_doc", "", 400, "the body has no log"),
            ("/app/_doc", "{", 400, "ends too early"),
            ("/app/_doc", "{}{}", 400, "nothing may follow the object"),
            ("/app/_doc", "[]", 400, "a log must be an object"),
            ("/app%0A/_doc", "{}", 400, "an index has 1 to 128 bytes"),
            ("/app/_doc/%ff", "{}", 400, "an id has 1 to 512 bytes"),
            ("/app/_doc/\(String(repeating: "i", count: 513))", "{}", 400, "an id has 1 to 512"),
        ] as [(String, String, Int, String)]
    )
    func mistakes(path: String, body: String, status: Int, reason: String) throws {
        let answer = try end.client.post(path, body.utf8)
        #expect(answer.status == status && answer["x-elastic-product"] == "Elasticsearch")
        #expect(answer.text.hasPrefix(#"{"error":{"root_cause":[{"type":""#), "\(answer.text)")
        #expect(answer.text.contains(reason), "\(answer.text)")
        #expect(end.queue.stored.isEmpty)
    }

    @Test("Only writing is there")
    func methods() throws {
        let get = try end.client.get("/app/_doc/7")
        #expect(get.status == 405 && get["allow"] == "POST, PUT, OPTIONS")
        let put = try end.client.send("PUT", "/app/_doc", Self.document)
        #expect(put.status == 405 && put["allow"] == "POST, OPTIONS")
        for path in ["/app/_create", "/app/_create/", "/app/_doc/7/8", "/app/_docs", "//_doc/7"] {
            #expect(try end.client.post(path, Self.document).status == 404, "\(path)")
        }
        end.queue.say(.full)
        let busy = try end.client.post("/app/_doc", Self.document)
        #expect(busy.status == 503 && busy["retry-after"] == "1")
    }
}

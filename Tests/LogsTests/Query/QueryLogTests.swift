import TestSupport
import Testing

@testable import Logs

@Suite struct QueryLogTests {
    let decoder = QueryLogDecoder()

    private func read(
        _ query: some Sequence<UInt8>,
        adding fields: [QueryLogDecoder.Field] = []
    ) throws(LogDecodingError) -> TrackedLogs {
        try padded(Array(query)) { query throws(LogDecodingError) in
            try decoder.decode(LogBody(query, BatchTiming(arrival: arrival)), adding: fields)
        }
    }

    private func fault(_ query: String) -> LogDecodingError? { refusal(try read(query.utf8)) }

    @Test(
        "Pairs are read as those of a form",
        arguments: [
            ("a=1&b=2", [["a", "1"], ["b", "2"]]),
            ("&&a=1&", [["a", "1"]]),
            ("a", [["a", ""]]),
            ("a=", [["a", ""]]),
            ("a=b=c", [["a", "b=c"]]),
            ("a+b=%2B+c%20d", [["a b", "+ c d"]]),
            ("a=%E4%B8%96%e7%95%8c", [["a", "世界"]]),
            ("a=100%&b=%zz%4&c=%", [["a", "100%"], ["b", "%zz%4"], ["c", "%"]]),
            ("a=%25%32%30", [["a", "%20"]]),
            ("a=%26%3D", [["a", "&="]]),
            ("a=1&a=2", [["a", "2"]]),
            ("=v", [["__empty__", "v"]]),
            ("a=?/;:@!$'()*,", [["a", "?/;:@!$'()*,"]]),
        ]
    )
    func pairs(query: String, fields: [[String]]) throws {
        #expect(try read(query.utf8).logs.sound.read() == [Read(fields)])
    }

    @Test("Names with a meaning are recognised, and SLS's own are stored under others")
    func meanings() throws {
        let tracked = try read(
            "APIVersion=0.6.0&__topic__=%E4%B8%96&__source__=s&__time__=1736843401&k=v&__tags__=x"
                .utf8
        )
        #expect(tracked.topic == "世")
        #expect(tracked.source == "s")
        #expect(tracked.tags.isEmpty)
        #expect(
            try tracked.logs.sound.read() == [
                Read([["k", "v"], ["__tags__", "x"]], seconds: 1_736_843_401)
            ]
        )
        let odd = try read("__time__=soon&apiversion=1&_extract_others_=2".utf8)
        #expect(
            try odd.logs.sound.read() == [
                Read([
                    ["__original_time__", "soon"], ["apiversion", "1"],
                    ["field_extract_others_", "2"],
                ])
            ]
        )
    }

    @Test("Text that is not UTF-8 is repaired, and the log is marked")
    func repaired() throws {
        #expect(
            try read("a=%FFb".utf8).logs.sound.read() == [
                Read([["a", "\u{FFFD}b"], ["__invalid_utf8__", "a"]])
            ]
        )
    }

    @Test("Fields beside the query win over its own, and are enough")
    func added() throws {
        let agent: QueryLogDecoder.Field = ("__userAgent__", Array("b".utf8))
        #expect(
            try read("__userAgent__=a&k=v".utf8, adding: [agent]).logs.sound.read() == [
                Read([["k", "v"], ["__userAgent__", "b"]])
            ]
        )
        #expect(
            try read([], adding: [agent]).logs.sound.read() == [Read([["__userAgent__", "b"]])]
        )
    }

    @Test(
        "A query without a field is refused",
        arguments: ["", "&", "APIVersion=0.6.0", "__topic__=t&__time__=1736843400"]
    )
    func empty(query: String) throws {
        let fault = try #require(self.fault(query))
        #expect(fault.reason.contains("no field"))
        #expect(fault.position == query.utf8.count)
    }

    @Test("A topic or source that is too long is refused with its place")
    func tooLong() {
        let long = String(repeating: "%C3%A9", count: 65)
        #expect(fault("k=v&__topic__=\(long)")?.position == 4)
        #expect(fault("__source__=\(long)")?.reason == "__source__ must not exceed 128 bytes")
        #expect(fault("k=v&__topic__=\(long.dropLast(6))") == nil)
    }
}

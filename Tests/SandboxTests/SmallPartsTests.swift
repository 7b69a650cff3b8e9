import HTTP
import JSON
import System
import Testing

@testable import Sandbox

@Suite struct SignedDateTests {
    @Test(
        "Dates are read as HTTP writes them",
        arguments: [
            ("Tue, 14 Jan 2025 08:30:00 GMT", 1_736_843_400),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Mon, 3 Jan 2010 08:33:47 GMT", 1_262_507_627),
        ] as [(String, Int64)]
    )
    func reading(_ text: String, _ seconds: Int64) {
        #expect(SignedDate.reading(text)?.seconds == seconds)
    }

    @Test(
        "What is no date is not read",
        arguments: [
            "", "Tue, 14 Jan 2025 08:30:00", "Tue, 14 Jan 2025 08:30:00 UTC",
            "Tue 14 Jan 2025 08:30:00 GMT", "Die, 14 Jan 2025 08:30:00 GMT",
            "Tue, 31 Feb 2025 08:30:00 GMT", "Thu, 29 Feb 2025 08:30:00 GMT",
            "Tue, 14 Jan 2025 24:30:00 GMT", "Tue, 14  Jan 2025 08:30:00 GMT",
            "Tue, +4 Jan 2025 08:30:00 GMT", "Tue, 14 Jan 12025 08:30:00 GMT",
        ]
    )
    func notReading(_ text: String) {
        #expect(SignedDate.reading(text) == nil)
    }

    @Test
    func `Writing and reading agree over the years`() {
        for seconds in stride(from: Int64(0), to: 8_000_000_000, by: 86_399 * 17) {
            let time = WallTime(seconds: seconds)
            #expect(SignedDate.reading(time.httpDate) == time)
            let compact = time.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
            #expect(SignedDate.readingCompact(String(compact)) == time)
        }
    }

    @Test(
        "Compact dates are strict",
        arguments: ["20250114T083000", "20250114 083000Z", "20251314T083000Z"]
    )
    func compact(_ text: String) {
        #expect(SignedDate.readingCompact(text) == nil)
    }
}

@Suite struct JSONReaderTests {
    private func read(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @Test
    func `Values of every kind are read`() throws {
        let value = try read(#" {"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{}} "#)
        #expect(
            value["a"]
                == .array([
                    .number(1), .number(-2500), .bool(true), .bool(false), .null, .string("xé😀\n"),
                ])
        )
        #expect(value["b"] == .object([]))
    }

    @Test(
        "What is not JSON is refused",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "-", "+1", "1e", "nul", "'a'",
            "\"a", "\"\n\"", #""\x""#, #""\u12""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#,
            "1 2", "[1 2]", "{\"a\" 1}", "1e999", String(repeating: "[", count: 100),
        ]
    )
    func notJSON(_ text: String) {
        #expect(throws: JSONProblem.self) { try read(text) }
    }

    @Test("Whatever the bytes, reading ends", arguments: 0..<8)
    func mutations(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let sample = Array(#"{"a":[1,-2.5e3,true,null,"x\u00e9\ud83d\ude00"],"b":{"c":"d"}}"#.utf8)
        for _ in 0..<3000 {
            var bytes = sample
            for _ in 0..<3 {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...3, using: &random))
            _ = try? JSONValue(parsing: bytes)
        }
    }
}

@Suite struct PageTests {
    @Test
    func `What a log contains cannot become markup`() throws {
        let sandbox = try Sandbox.forTests()
        let evil = "<script>alert('1' & \"2\")</script>"
        var write = TestWrite()
        write.raw =
            TestGroup(
                logs: [.init(fields: [(evil, evil)])],
                topic: evil,
                source: evil,
                tags: [(evil, evil)]
            ).bytes
        #expect(try sandbox.put(write).status == 200)
        let fault = #"{"status":500,"message":"<script>"}"#
        #expect(try sandbox.control("POST", "/faults", fault).status == 200)
        let page = try sandbox.control("GET", "/", query: "contains=%3Cscript%3E")
        #expect(page.status == 200)
        let safe = "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;"
        #expect(page.text.contains("<dt>\(safe)</dt><dd>\(safe)</dd>"))
        #expect(page.text.contains("<dt>__tag__:\(safe)</dt>"))
        #expect(page.text.contains(#"value="&lt;script&gt;""#))
        #expect(!page.text.contains("<script>"))
        let policy = try #require(page.field("content-security-policy"))
        let nonce = try #require(policy.split(separator: "'nonce-").last?.prefix(32))
        #expect(page.text.contains("<script nonce=\"\(nonce)\">"))
        #expect(policy.hasPrefix("default-src 'none'"))
    }

    @Test
    func `The live part is the page without its frame`() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.put(TestWrite()).status == 200)
        let request = try ReceivedRequest(
            method: "GET",
            path: "/",
            query: nil,
            fields: [("host", "127.0.0.1"), ("X-Sandbox-Part", "live")]
        )
        let part = sandbox.answer(request).response.text
        #expect(part.contains("demo-project / app-log"))
        #expect(!part.contains("<html"))
        #expect(try sandbox.control("GET", "/").text.contains(part))
    }
}

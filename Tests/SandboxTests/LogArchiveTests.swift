import HTTP
import JSON
import Net
import SQLite
import System
import TestSupport
import Testing

@testable import Sandbox

@Suite struct LogArchiveTests {
    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox.forTests() }

    private func fill(_ sandbox: Sandbox, _ packs: Range<Int>, logs: Int = 10) throws {
        for pack in packs {
            var write = TestWrite()
            write.raw =
                TestGroup(
                    logs: (0..<logs).map { .init(fields: [("n", "\(pack * logs + $0)")]) }
                ).bytes
            #expect(try sandbox.put(write).status == 200)
        }
    }

    private func numbers(_ response: Response) -> [Int] {
        response.text.split(separator: "\n").compactMap { line in
            (try? JSONValue(parsing: Array(line.utf8)))?["n"]?.text
                .flatMap {
                    Int($0)
                }
        }
    }

    @Test
    func `Beyond its bound the oldest requests go, and it is told`() throws {
        let lines = Locked<[String]>([])
        var configuration = SandboxConfiguration(
            listen: try .init(parsing: "127.0.0.1:0"),
            keys: [TestWrite.key]
        )
        configuration.clock = { TestWrite.noon }
        configuration.capacity.storedLogsMax = 35
        let journal = Journal(level: .info, format: .text) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let sandbox = try Sandbox(configuration, journal: journal)
        try fill(sandbox, 0..<6)
        #expect(numbers(try sandbox.control("GET", "/logs")) == Array(30..<60))
        let stats = try #require(try sandbox.control("GET", "/stats").json)
        #expect(stats["kept"]?["logs"]?.wholeNumber == 30)
        #expect(stats["stored"]?["logs"]?.wholeNumber == 60)
        #expect(stats["dropped"]?["logs"]?.wholeNumber == 30)
        #expect(stats["dropped"]?["requests"]?.wholeNumber == 3)
        #expect(try sandbox.control("GET", "/").text.contains("30 of the oldest were dropped"))
        #expect(lines.withLock { $0.filter { $0.contains("dropping oldest") }.count } == 1)
    }

    @Test
    func `Bytes are bounded too`() throws {
        let sandbox = try Sandbox.forTests { $0.capacity.storedBytesMax = 4096 }
        try fill(sandbox, 0..<50)
        let kept = try #require(try sandbox.control("GET", "/stats").json?["kept"])
        #expect(try #require(kept["bytes"]?.wholeNumber) <= 4096)
        let found = numbers(try sandbox.control("GET", "/logs"))
        #expect(found.last == 499)
        #expect(found.count == kept["logs"]?.wholeNumber)
    }

    @Test
    func `A request larger than the bound stays until the next`() throws {
        let sandbox = try Sandbox.forTests { $0.capacity.storedLogsMax = 5 }
        try fill(sandbox, 0..<2)
        #expect(numbers(try sandbox.control("GET", "/logs")) == Array(10..<20))
    }

    @Test
    func `Reading goes on behind the cursor`() throws {
        try fill(sandbox, 0..<3)
        var found: [Int] = []
        var cursor = "0"
        while true {
            let page = try sandbox.control("GET", "/logs", query: "limit=7&after=\(cursor)")
            found += numbers(page)
            cursor = try #require(page.field("x-sandbox-cursor"))
            guard page.field("x-sandbox-more") == "true" else { break }
        }
        #expect(found == Array(0..<30))
        #expect(cursor == "30")
        #expect(try sandbox.control("GET", "/logs", query: "after=30").body.isEmpty)
        let newest = try sandbox.control("GET", "/logs", query: "order=newest&limit=2")
        #expect(numbers(newest) == [29, 28])
    }

    @Test
    func `A look through many logs is complete and in order`() throws {
        let sandbox = try Sandbox.forTests { $0.capacity.storedLogsMax = 24_000 }
        try fill(sandbox, 0..<9, logs: 3000)
        let all = try sandbox.control("GET", "/logs", query: "limit=100000")
        #expect(numbers(all) == Array(3000..<27_000))
        let newest = try sandbox.control("GET", "/logs", query: "limit=100000&order=newest")
        #expect(numbers(newest) == Array(3000..<27_000).reversed())
        let rare = try sandbox.control("GET", "/logs", query: "contains=999&after=9000&limit=3")
        #expect(numbers(rare) == [9990, 9991, 9992])
        var wait = LogWait(count: 24_000, query: LogQuery())
        try wait.look(in: sandbox)
        #expect(wait.isOver)
        wait = LogWait(count: 24_001, query: LogQuery())
        try wait.look(in: sandbox)
        #expect(!wait.isOver)
        try fill(sandbox, 9..<10, logs: 1)
        try wait.look(in: sandbox)
        #expect(wait.isOver)
    }

    @Test
    func `Clearing forgets the logs and not the place in the stream`() throws {
        try fill(sandbox, 0..<1)
        #expect(try sandbox.control("DELETE", "/logs").text == "{\"cleared\":10}\n")
        #expect(try sandbox.control("GET", "/logs").body.isEmpty)
        try fill(sandbox, 1..<2)
        let rest = try sandbox.control("GET", "/logs", query: "after=10")
        #expect(numbers(rest) == Array(10..<20))
    }

    @Test
    func `Logs are found by place and by what they contain`() throws {
        var write = TestWrite()
        write.raw =
            TestGroup(
                logs: [
                    .init(fields: [("msg", "say \"hi\"\nthere")]),
                    .init(fields: [("msg", "other")]),
                ],
                topic: "t\"1",
                tags: [("env", "prod")]
            ).bytes
        #expect(try sandbox.put(write).status == 200)
        write.raw = TestGroup(topic: "t2").bytes
        write.path = "/logstores/b_log/shards/lb"
        #expect(try sandbox.put(write).status == 200)
        func count(_ query: String) throws -> Int {
            let response = try sandbox.control("GET", "/logs", query: query)
            return response.text.split(separator: "\n").count
        }
        #expect(try count("") == 3)
        #expect(try count("logstore=app-log") == 2)
        #expect(try count("logstore=b_log&project=demo-project") == 1)
        #expect(try count("project=other") == 0)
        #expect(try count("topic=t2") == 1)
        #expect(try count("contains=say+%22hi%22%0Athere") == 1)
        #expect(try count("contains=prod") == 2)
        #expect(try count("contains=t%221") == 2)
        #expect(try count("contains=nowhere") == 0)
        #expect(try count("logstore=app-log'%20OR%20'1'='1") == 0)
    }

    @Test(
        arguments: [
            "after=\(Int.max)", "after=\(Int.max - 1)&order=newest", "after=\(Int.max)&min=1000000",
            "after=0&limit=100000", "after=0&limit=1", "details=1", "after=&limit=&wait_s=&min=",
        ]
    )
    func `Numbers at their bounds are only numbers`(query: String) throws {
        #expect(try sandbox.put(TestWrite()).status == 200)
        let isBeyond = query.contains("\(Int.max / 1000)")
        let logs = try sandbox.control("GET", "/logs", query: query)
        #expect(logs.status == 200)
        #expect(logs.body.isEmpty == isBeyond)
        #expect(try sandbox.control("GET", "/", query: query).status == 200)
    }

    @Test(
        "A misspelt question is refused instead of showing everything",
        arguments: [
            "logstor=x", "after=9223372036854775808", "min=0", "min=1000001", "details=2",
            "limit=100001", "limit=99999999999999999999", "limit=0", "limit=x", "after=-1",
            "order=up", "wait_s=61",
        ]
    )
    func misspelt(_ query: String) throws {
        #expect(try sandbox.control("GET", "/logs", query: query).status == 400)
    }

    @Test
    func `Details tell what SLS would not`() throws {
        let id = try #require(try sandbox.put(TestWrite()).field("x-log-requestid"))
        #expect(
            try sandbox.control("GET", "/logs", query: "details=1").text == """
                {"__time__":"1736843400","__topic__":"","__source__":"","__cursor__":"1",\
                "__pack_index__":"0","__project__":"demo-project","__logstore__":"app-log",\
                "__request_id__":"\(id)","__received__":"2025-01-14T08:30:00.000Z","k":"v"}

                """
        )
    }

    @Test
    func `A file keeps logs, lanes and counts over a restart`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/sandbox.db"
        var write = TestWrite()
        write.path = "/logstores/app-log/shards/route"
        write.query = "key=8a000000000000000000000000000000&seqid=5"
        do {
            let sandbox = try Sandbox.forTests { $0.storage = path }
            #expect(try sandbox.put(write).status == 200)
        }
        let sandbox = try Sandbox.forTests { $0.storage = path }
        #expect(try sandbox.put(write).errorCode == "InvalidSequenceId")
        #expect(try sandbox.control("GET", "/stats").json?["kept"]?["logs"]?.wholeNumber == 1)
        write.query = "key=8a000000000000000000000000000000&seqid=6"
        #expect(try sandbox.put(write).status == 200)
        let second = try sandbox.control("GET", "/logs", query: "after=1&details=1")
        #expect(second.text.contains(#""__cursor__":"2""#))
    }

    @Test
    func `A file that cannot be used is refused with its name`() throws {
        let directory = TemporaryDirectory()
        #expect(throws: SQLiteError.self) {
            try Sandbox.forTests { $0.storage = directory.path + "/no/such/sandbox.db" }
        }
        let path = directory.path + "/other.db"
        try Connection(path, .scratch).execute("PRAGMA user_version = 99")
        let error = #expect(throws: SQLiteError.self) {
            try Sandbox.forTests { $0.storage = path }
        }
        #expect(error?.description.contains("version 99") == true)
    }

    @Test
    func `Lanes that were not used for longest are forgotten`() throws {
        let sandbox = try Sandbox.forTests { $0.capacity.lanesMax = 2 }
        var write = TestWrite()
        write.path = "/logstores/app-log/shards/route"
        func put(_ key: String, _ sequence: Int) throws -> String? {
            write.query = "key=\(key)000000000000000000000000000000&seqid=\(sequence)"
            return try sandbox.put(write).errorCode
        }
        for key in ["aa", "bb", "cc"] { #expect(try put(key, 1) == nil) }
        #expect(try put("cc", 1) == "InvalidSequenceId")
        #expect(try put("bb", 1) == "InvalidSequenceId")
        #expect(try put("aa", 1) == nil)
    }
}

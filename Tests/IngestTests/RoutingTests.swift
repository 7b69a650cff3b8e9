import Configuration
import System
import TestConfiguration
import Testing

@testable import Ingest

@Suite struct RoutingTests {
    private func table() throws -> RoutingTable {
        RoutingTable(
            try read(
                """
                destinations:
                  first: { endpoint: cn-hangzhou.log.aliyuncs.com, project: one-project, logstore: aa }
                  second: { endpoint: cn-hangzhou.log.aliyuncs.com, project: one-project, logstore: "*" }
                  third: { endpoint: cn-hangzhou.log.aliyuncs.com, project: two-project, logstore: bb }
                """,
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            )
        )
    }

    @Test(
        "Host, then logstore, find the destination",
        arguments: [
            ("one-project.logs.example.com", nil, "aa", "first"),
            ("ONE-PROJECT.logs.example.com:8080", nil, "aa", "first"),
            ("one-project.x", nil, "zz", "second"),
            ("two-project.x", nil, "bb", "third"),
            ("gateway.example.com", nil, "aa", "first"),
            ("10.0.0.1:8080", nil, "cc", "second"),
            (nil, nil, "aa", "first"),
            ("gateway", "two-project", "bb", "third"),
        ] as [(String?, String?, String, String)]
    )
    func found(host: String?, project: String?, logstore: String, name: String) throws {
        let target = try table().target(host: host, project: project, logstore: logstore)
        #expect(target.destination == name)
        #expect(target.logstore == logstore)
    }

    @Test("A logstore that nobody has is refused with SLS's code")
    func missing() throws {
        let table = try table()
        let error = #expect(throws: Refusal.self) {
            try table.target(host: "two-project.x", project: nil, logstore: "zz")
        }
        #expect(error?.code == "LogStoreNotExist")
        #expect(error?.status == 404)
    }

    @Test("A tag goes to the destination of its project")
    func tag() throws {
        let table = try table()
        #expect(try table.target(host: "gw", project: nil, tag: "pv.ios").destination == "first")
        #expect(try table.target(host: "two-project.x", project: nil, tag: "t").logstore == "bb")
    }

    @Test(
        "Where every logstore is taken, the first term of the tag names it",
        arguments: [("pv", "pv"), ("pv.home", "pv"), ("pv.home.top", "pv")]
    )
    func firstTerm(tag: String, logstore: String) throws {
        let table = RoutingTable(
            try .read(.init(options: ["--data-dir": "/none"], isSandboxed: true))
        )
        let target = try table.target(host: nil, project: nil, tag: tag)
        #expect(target.logstore == logstore)
    }

    @Test(
        "Escapes in a path become text",
        arguments: [
            ("abc", "abc"), ("a%20b", "a b"), ("%e4%B8%96", "世"), ("%", nil), ("%zz", nil),
            ("%ff", nil),
        ]
    )
    func escapes(written: String, text: String?) {
        #expect(percentDecodedText(Array(written.utf8)[...]) == text)
    }
}

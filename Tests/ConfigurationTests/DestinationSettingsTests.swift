import Crypto
import HTTPClient
import Queue
import SLS
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

/// A destination with so much more to it.
private func described(_ more: String, logstore: String = "app-log", rest: String = "") -> String {
    "destinations: {app: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, "
        + "logstore: \"\(logstore)\", \(more)}}\n\(rest)\n"
}

private func destination(
    _ more: String = "",
    logstore: String = "app-log",
    rest: String = "",
    environment: [String: String] = [:]
) throws -> Destination {
    try read(
        described(more, logstore: logstore, rest: rest),
        testKeys.merging(environment) { $1 }
    ).destinations[0]
}

@Suite struct DestinationSettingsTests {
    @Test("What is not given has its default")
    func defaults() throws {
        let plain = try destination()
        #expect(plain.transfer == .init())
        #expect(plain.backlog == .init())
        #expect(plain.intake == .init())
        #expect(plain.intake.logDelayMax == .seconds(167 * 3600))
        var rules = DestinationRules()
        rules.logstore = "app-log"
        #expect(plain.queueRules == rules)
    }

    @Test("Optional destinations without a bound of their own share half of the queue")
    func optional() throws {
        let read = try read(
            """
            queue: { max_bytes: 80MiB }
            destinations:
              app: { kind: file, path: /var/log/app.ndjson }
              console: { kind: stdout, required: false }
              bound: { kind: file, path: /var/log/a.ndjson, required: false, max_bytes: 70MiB }
              copy: { kind: file, path: /var/log/b.ndjson, required: false }
            """,
            [:]
        )
        let bounds = read.queueRules.mapValues { $0.bytesMax.map { $0 >> 20 } }
        #expect(bounds == ["app": nil, "console": 20, "bound": 70, "copy": 20])
        let console = read.destinations.first { $0.name == "console" }
        let shown = console?.shown.first { $0.key == "max_bytes" }?.value
        guard case .size(20 << 20) = shown else {
            Issue.record("max_bytes is shown as \(String(describing: shown))")
            return
        }
    }

    @Test("How it is sent")
    func transfer() throws {
        let sent = try destination(
            "exactly_once: true, lanes: 5, drop_unauthorized: true, clock_offset: -90s, "
                + "stall_timeout: 20s, send_timeout: 30s, proxy: \"http://me:hush@10.0.0.1:3128\""
        )
        #expect(sent.transfer.lanes == 5)
        #expect(sent.queueRules.lanes == 5)
        #expect(sent.transfer.dropsUnauthorized)
        #expect(sent.transfer.clockOffset == .seconds(-90))
        #expect(sent.transfer.transport.stallTimeout == .seconds(20))
        #expect(sent.transfer.transport.sendTimeout == .seconds(30))
        let proxy = try #require(sent.transfer.transport.proxy)
        #expect(proxy.description == "http://me:•••@10.0.0.1:3128")
        #expect(proxy.password == Secret("hush"))
    }

    @Test("Lanes follow from the concurrency")
    func lanes() throws {
        #expect(try destination("exactly_once: true").transfer.lanes == 16)
        #expect(try destination("exactly_once: true, concurrency: 20").transfer.lanes == 40)
        #expect(try destination("exactly_once: false, concurrency: 20").transfer.lanes == 0)
    }

    @Test("What becomes of a log")
    func intake() throws {
        let intake = try destination(
            "late_logs: dead_letter, max_log_delay: 1d, oversize: dead_letter, "
                + "fold_tags: [device_id, model], keep_pack_id: true"
        ).intake
        #expect(intake.lateLogs == .deadLetter)
        #expect(intake.logDelayMax == .seconds(86_400))
        #expect(intake.oversize == .deadLetter)
        #expect(intake.foldTags == .named(["device_id", "model"]))
        #expect(intake.keepsPackID)
        #expect(try destination("late_logs: drop").queueRules.lateLogs == .drop)
        #expect(try destination("fold_tags: all").intake.foldTags == .all)
        #expect(try destination("fold_tags: []").intake.foldTags == .none)
        #expect(try destination("fold_tags: [all]").intake.foldTags == .named(["all"]))
    }

    @Test("What SLS refuses is nothing to other kinds, unless an operator says so")
    func otherKinds() throws {
        let sls = try destination("").intake
        #expect(sls.lateLogs == .rewrite && sls.oversize == .truncate)
        for kind in ["kind: stdout", "kind: file, path: /tmp/a", "kind: http, url: http://a/in"] {
            func intake(_ more: String) throws -> Destination.Intake {
                let text = "destinations: {out: {\(kind)\(more)}}"
                return try read(text, [:]).destinations[0].intake
            }
            let usual = try intake("")
            #expect(usual.lateLogs == .keep && usual.oversize == .keep)
            let strict = try intake(", late_logs: drop, oversize: dead_letter")
            #expect(strict.lateLogs == .drop && strict.oversize == .deadLetter)
        }
    }

    @Test("What may wait for it")
    func backlog() throws {
        let rules = try destination(
            "max_bytes: 1GiB, max_age: 2d, overflow: drop_oldest, fresh_first: 25%, "
                + "max_logstores: 3",
            logstore: "*"
        ).queueRules
        #expect(rules.bytesMax == 1 << 30)
        #expect(rules.ageMax == .seconds(2 * 86_400))
        #expect(rules.overflow == .dropOldest)
        #expect(rules.freshPercent == 25)
        #expect(rules.logstoresMax == 3)
    }

    @Test("The queue says what holds for destinations that do not")
    func queueDefaults() throws {
        let queue = "queue: {overflow: drop_oldest, fresh_first: 20%}"
        #expect(try destination(rest: queue).backlog.overflow == .dropOldest)
        #expect(try destination(rest: queue).backlog.freshPercent == 20)
        let own = try destination("overflow: reject, fresh_first: 0%", rest: queue).backlog
        #expect(own.overflow == .reject)
        #expect(own.freshPercent == 0)
    }
}

@Suite struct EndpointListTests {
    private func endpoints(_ text: String, _ environment: [String: String] = [:]) throws -> [String]
    {
        try read(text, testKeys.merging(environment) { $1 }).destinations[0].endpoints
            .map(\.description)
    }

    private let two = ["https://cn-hangzhou.log.aliyuncs.com", "https://log-global.aliyuncs.com"]

    @Test("Several endpoints are a list or have commas between them")
    func several() throws {
        let rest = "project: my-project, logstore: app-log}}\n"
        let names = "cn-hangzhou.log.aliyuncs.com, log-global.aliyuncs.com"
        #expect(try endpoints("destinations: {app: {endpoint: [\(names)], \(rest)") == two)
        #expect(try endpoints("destinations: {app: {endpoint: \"\(names)\", \(rest)") == two)
        #expect(try endpoints(minimal, ["SLUICE_ENDPOINT": names]) == two)
        // The environment beats the list.
        #expect(
            try endpoints(
                "destinations: {app: {endpoint: [a.example.com, b.example.com], \(rest)",
                ["SLUICE_ENDPOINT": names]
            ) == two
        )
    }

    @Test("Each value of a list may come from somewhere else")
    func substituted() throws {
        let text = """
            destinations:
              app:
                endpoint:
                  - ${FIRST}
                  - https://log-global.aliyuncs.com
                project: my-project
                logstore: app-log
            """
        #expect(try endpoints(text, ["FIRST": "cn-hangzhou.log.aliyuncs.com"]) == two)
    }

    @Test("The region is the one that an endpoint shows")
    func region() throws {
        let names = "log-global.aliyuncs.com, cn-hangzhou-vpc.log.aliyuncs.com"
        let read = try read(minimal, testKeys.merging(["SLUICE_ENDPOINT": names]) { $1 })
        #expect(read.destinations[0].region == "cn-hangzhou")
    }
}

@Suite struct DestinationProblemTests {
    @Test(
        "A wrong value is refused with what would be right",
        arguments: [
            ("exactly_once: yes", "exactly_once: \"yes\" is neither true nor false"),
            ("exactly_once: true, lanes: 513", "lanes: 513 is not between 1 and 512"),
            ("lanes: 4", "lanes: has a meaning with exactly_once: true only; add that, or remove"),
            ("drop_unauthorized: 1", "drop_unauthorized: \"1\" is neither true nor false"),
            ("late_logs: deadletter", "late_logs: \"deadletter\" is not one of keep, rewrite,"),
            ("late_logs: keep", "late_logs: keep is for other kinds: SLS refuses the packet of"),
            ("oversize: keep", "oversize: keep is for other kinds: SLS refuses the packet of such"),
            ("max_log_delay: 8d", "max_log_delay: 8d is not between 1m and 7d"),
            ("oversize: cut", "oversize: \"cut\" is not one of keep, truncate, dead_letter"),
            ("fold_tags: device_id", "fold_tags: \"device_id\" is neither all nor none; write"),
            ("fold_tags: {a: b}", "fold_tags: wants all, none or a list of tags, got a group of"),
            ("fold_tags: [a, \"\"]", "fold_tags: a tag's name has 1 to 128 bytes"),
            ("keep_pack_id: no", "keep_pack_id: \"no\" is neither true nor false"),
            ("max_bytes: 1KiB", "max_bytes: 1KiB is not between 1MiB and 1024TiB"),
            ("max_bytes: 5GiB", "max_bytes: 5GiB is beyond queue.max_bytes (4GiB), so it would"),
            ("max_age: 1s", "max_age: 1s is not between 1m and 365d"),
            ("overflow: drop", "overflow: \"drop\" is not one of reject, drop_oldest"),
            ("fresh_first: 20", "fresh_first: \"20\" is not a percentage; write one such as 20%"),
            ("fresh_first: 91%", "fresh_first: 91% is not between 0% and 90%"),
            ("max_logstores: 5", "max_logstores: there is one logstore, app-log; write logstore:"),
            ("clock_offset: soon", "clock_offset: \"soon\" is not an offset; write one such as"),
            ("clock_offset: -9999d", "clock_offset: -9999d is not between -3650d and 3650d"),
            ("stall_timeout: 2h", "stall_timeout: 2h is not between 1s and 1h"),
        ]
    )
    func refused(more: String, expected: String) {
        let found = problems(described(more))
        #expect(found.begin(with: ["sluice.yaml:1: destinations.app.\(expected)"]), "\(found)")
    }

    @Test(
        "So are those of the queue and the devices",
        arguments: [
            ("queue: {overflow: x}", "queue.overflow: \"x\" is not one of reject, drop_oldest"),
            ("queue: {fresh_first: x}", "queue.fresh_first: \"x\" is not a percentage; write one"),
            ("queue: {dead_letter_age: 1s}", "queue.dead_letter_age: 1s is not between 1m and"),
            ("devices: {duplicates: {window: 31d}}", "devices.duplicates.window: 31d is not"),
            ("devices: {duplicates: {max: -1}}", "devices.duplicates.max: -1 is not between 0 and"),
            ("devices: {duplicates: on}", "devices.duplicates: wants a group of settings, got a"),
        ]
    )
    func refusedElsewhere(text: String, expected: String) {
        let found = problems(described("", rest: text))
        #expect(found.begin(with: ["sluice.yaml:2: \(expected)"]), "\(found)")
    }

    @Test("Each wrong value of a list is told with its own line")
    func lists() {
        let text = """
            destinations:
              app:
                endpoint:
                  - cn-hangzhou.log.aliyuncs.com
                  - https://
                  - ${NONE}
                  -
                  - [a]
                project: my-project
                logstore: app-log
            """
        let key = "destinations.app.endpoint: "
        #expect(
            problems(text).joined(separator: "\n") == """
                sluice.yaml:5: \(key)endpoint 'https://' has no host; write it as https://cn-hangzhou.log.aliyuncs.com
                sluice.yaml:6: \(key)the environment has no NONE; set it, or give a default as in ${NONE:-value}
                sluice.yaml:7: \(key)wants an endpoint such as https://cn-hangzhou.log.aliyuncs.com, got nothing
                sluice.yaml:8: \(key)wants an endpoint such as https://cn-hangzhou.log.aliyuncs.com, got a list
                """
        )
    }

    @Test(
        "Endpoints that cannot go together are refused",
        arguments: [
            ("[]", "is an empty list; give at least 1"),
            (
                "\"a.example,,b.example\"",
                "endpoint '' has no host; write it as https://cn-hangzhou.log.aliyuncs.com"
            ),
            ("[a, b, c, d, e, f, g, h, i]", "has 9 values; give at most 8"),
            (
                "[cn-hangzhou.log.aliyuncs.com, https://cn-hangzhou.log.aliyuncs.com]",
                "https://cn-hangzhou.log.aliyuncs.com is given twice; keep one of them"
            ),
        ]
    )
    func endpoints(list: String, expected: String) {
        let text =
            "destinations: {app: {endpoint: \(list), project: my-project, logstore: app-log}}"
        let start = "sluice.yaml:1: destinations.app.endpoint: \(expected)"
        #expect(problems(text).begin(with: [start]), "\(problems(text))")
    }

    @Test("Endpoints of several regions are refused, unless one is given")
    func regions() {
        let start =
            "destinations: {app: {endpoint: [cn-hangzhou.log.aliyuncs.com, "
            + "cn-beijing.log.aliyuncs.com], project: my-project, logstore: app-log"
        #expect(
            problems(start + "}}").joined()
                == "sluice.yaml:1: destinations.app.region: the endpoints are in different regions "
                + "(cn-beijing, cn-hangzhou), but a project is in one: list only endpoints of that "
                + "region, or set region if the names mislead"
        )
        #expect(problems(start + ", region: cn-beijing}}") == [])
    }

    @Test(
        "What is no proxy is refused, and nothing of it is repeated",
        arguments: [
            ("10.0.0.1:3128", "has no scheme"),
            ("ftp://me:hush@10.0.0.1:3128", "has a scheme that is not known"),
            ("http://me:hush@10.0.0.1", "has no port"),
        ]
    )
    func proxies(url: String, reason: String) {
        #expect(
            problems(described("proxy: \"\(url)\"")).joined()
                == "sluice.yaml:1: destinations.app.proxy: the proxy \(reason); write it as "
                + "http://user:password@proxy:3128 (or https://, or socks5h://), without the user "
                + "where none is needed"
        )
    }

    @Test("A proxy may come from the environment, and its password is never shown")
    func secretProxy() throws {
        let destination = try destination(
            "proxy: \"${PROXY}\"",
            environment: ["PROXY": "http://me:hush@10.0.0.1:3128"]
        )
        #expect(destination.transfer.transport.proxy?.password == Secret("hush"))
        #expect(!"\(destination)".contains("hush"))
    }
}

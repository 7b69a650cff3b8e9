import Foundation
import Logs
import Queue
import System
import Testing

@testable import Ingest

@Suite struct TailEventTests {
    private static let key = StreamKey(
        destination: "app",
        logstore: "app-log",
        trailer: GroupTrailer(topic: "t", source: "10.0.0.7")
    )

    private func event(_ fields: [(key: String, value: String)]) throws -> (
        log: [String: String], cut: [String: Int]?, bytes: Int
    ) {
        let entry = LogEntry(time: LogTime(seconds: 7), fields: fields)
        let size = fields.reduce(16) { $0 + $1.key.utf8.count + $1.value.utf8.count + 12 }
        let bytes = TailEvent.bytes(entry, size: size, of: Self.key)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(text.dropFirst(6).utf8)) as? [String: Any]
        )
        return (
            try #require(json["log"] as? [String: String]), json["cut"] as? [String: Int],
            bytes.count
        )
    }

    @Test("A log that fits is whole, however its text is escaped")
    func whole() throws {
        let value = String(repeating: "x", count: 200_000)
        let event = try event([("a", value), ("b", "\u{1b}\"\\\n")])
        #expect(event.cut == nil)
        #expect(event.log["a"] == value && event.log["b"] == "\u{1b}\"\\\n")
    }

    @Test(
        "A large value is cut with a mark, and short ones beside it are whole",
        arguments: ["x", "\u{1}", "世", "\"", "🙂", "\u{2028}"]
    )
    func cut(character: String) throws {
        let value = String(repeating: character, count: 1 << 20)
        let event = try event([("level", "error"), ("body", value), ("after", "fine")])
        let shown = try #require(event.log["body"])
        #expect(event.bytes <= TailEvent.bytesMax, "\(event.bytes)")
        #expect(event.bytes > TailEvent.bytesMax * 9 / 10, "\(event.bytes)")
        #expect(shown.hasPrefix(String(repeating: character, count: 1000)))
        #expect(shown.hasSuffix("… [cut, \(value.utf8.count) bytes]"))
        #expect(event.log["level"] == "error" && event.log["after"] == "fine")
        #expect(event.log["__time__"] == "7")
        #expect(event.cut?["fields"] == 0)
        #expect(event.cut?["bytes"] ?? 0 > value.utf8.count)
    }

    @Test("Several large values share the room")
    func shared() throws {
        let value = String(repeating: "x", count: 300_000)
        let event = try event((0..<4).map { ("f\($0)", value) } + [("short", "1")])
        let sizes = (0..<4).map { event.log["f\($0)"]?.utf8.count ?? 0 }
        #expect(sizes.allSatisfy { $0 > 50_000 && abs($0 - sizes[0]) < 64 }, "\(sizes)")
        #expect(event.log["short"] == "1" && event.bytes <= TailEvent.bytesMax)
    }

    @Test("Of too many fields the first are shown, and the others counted; long names are cut")
    func manyFields() throws {
        let name = String(repeating: "n", count: 100_000)
        let many = (0..<50_000).map { ("field \($0)", "value \($0)") }
        let event = try event([(name, "first")] + many)
        #expect(event.bytes <= TailEvent.bytesMax)
        let left = try #require(event.cut?["fields"])
        // The time is a member, too.
        #expect(left > 40_000 && event.log.count - 1 + left == 50_001)
        #expect(event.log["field 0"] == "value 0")
        #expect(
            event.log.contains { $0.key.hasSuffix("[cut, 100000 bytes]") && $0.value == "first" }
        )
    }
}

@Suite struct TailSamplerTests {
    private let start = Moment.now

    /// Feeds so many logs each millisecond; returns when each shown one came, in milliseconds.
    private func run(
        _ sampler: inout TailSampler,
        from begin: Int = 0,
        milliseconds: Int,
        perMillisecond count: Int,
        reports: inout [TailSampler.Report]
    ) -> [Int] {
        var shown: [Int] = []
        for millisecond in begin..<(begin + milliseconds) {
            let now = start + .milliseconds(millisecond)
            shown += sampler.choose(count, now).map { _ in millisecond }
            guard let report = sampler.report(now) else { continue }
            reports.append(report)
            sampler.startPeriod(now)
        }
        return shown
    }

    @Test(
        "A fast tail keeps the rate, spread over each tenth of a second",
        arguments: [10, 200, 1000]
    )
    func spread(rate: Int) {
        var sampler = TailSampler(rate: rate, now: start)
        var reports: [TailSampler.Report] = []
        _ = run(&sampler, milliseconds: 1000, perMillisecond: 10, reports: &reports)
        let shown = run(
            &sampler,
            from: 1000,
            milliseconds: 10_000,
            perMillisecond: 10,
            reports: &reports
        )
        #expect(abs(shown.count - rate * 10) <= max(2, rate / 5), "\(shown.count)")
        // No tenth has much more or less than its share.
        var tenths = [Int](repeating: 0, count: 100)
        for millisecond in shown { tenths[(millisecond - 1000) / 100] += 1 }
        let share = Double(rate) / 10
        #expect(tenths.allSatisfy { abs(Double($0) - share) <= max(1, share * 0.2) }, "\(tenths)")
        #expect(reports.count == 10, "\(reports.count)")
        for report in reports {
            #expect(report.time == .seconds(1))
            #expect((9990...10_010).contains(report.matched), "\(report)")
        }
    }

    @Test("Traffic below the rate is shown whole, and nothing is reported")
    func slow() {
        var sampler = TailSampler(rate: 2000, now: start)
        var reports: [TailSampler.Report] = []
        let shown = run(&sampler, milliseconds: 3000, perMillisecond: 1, reports: &reports)
        #expect(shown.count == 3000)
        #expect(reports.isEmpty && sampler.nextReport == nil)
    }

    @Test(
        "Many logs at once are bounded and spread, and their loss is reported without further logs"
    )
    func burst() {
        var sampler = TailSampler(rate: 100, now: start)
        let chosen = sampler.choose(10_000, start)
        #expect((20...26).contains(chosen.count), "\(chosen.count)")
        #expect(chosen.last ?? 0 > 9000 && chosen[1] - chosen[0] > 300, "\(chosen)")
        #expect(sampler.nextReport == start + .seconds(1))
        #expect(sampler.report(start + .milliseconds(999)) == nil)
        let report = sampler.report(start + .milliseconds(1500))
        #expect(
            report
                == TailSampler.Report(
                    matched: 10_000,
                    shown: chosen.count,
                    time: .milliseconds(1500)
                )
        )
        sampler.startPeriod(start + .milliseconds(1500))
        #expect(sampler.nextReport == nil)
        // After a second of silence the next log is shown.
        #expect(sampler.choose(1, start + .seconds(3)) == [0])
    }

    @Test("One log a second is shown at the rate of one")
    func single() {
        var sampler = TailSampler(rate: 1, now: start)
        var reports: [TailSampler.Report] = []
        let shown = run(&sampler, milliseconds: 10_000, perMillisecond: 5, reports: &reports)
        #expect((8...11).contains(shown.count), "\(shown)")
    }
}

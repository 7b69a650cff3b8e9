import System
import Testing

@testable import Ingest

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

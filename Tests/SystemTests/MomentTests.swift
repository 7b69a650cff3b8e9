import System
import Testing

@testable import System

@Suite
struct MomentTests {
    static let edges: [(seconds: Int64, nanoseconds: Int64)] = [
        (9_223_372_036, 9_223_372_036_000_000_000), (9_223_372_037, .max),
        (253_402_300_799, .max), (.max, .max), (-9_223_372_037, .min), (.min, .min),
    ]

    @Test("Seconds beyond the clock's range are clamped to its end", arguments: edges)
    func seconds(seconds: Int64, nanoseconds: Int64) {
        #expect(WallTime(seconds: seconds).nanoseconds == nanoseconds)
    }

    @Test("A moment plus a too long duration is clamped to the clock's end")
    func sum() {
        let now = Moment(nanoseconds: 1_500_000_000)
        #expect((now + .milliseconds(250)).nanoseconds == 1_750_000_000)
        #expect((now + .milliseconds(-2500)).nanoseconds == -1_000_000_000)
        #expect((now + .seconds(Int64.max)).nanoseconds == Int64.max)
        #expect((now + .seconds(9_223_372_036)).nanoseconds == Int64.max)
        #expect((Moment(nanoseconds: -1) + .seconds(Int64.min)).nanoseconds == Int64.min)
    }

    @Test("The duration between any two moments does not overflow")
    func difference() {
        let (first, last) = (Moment(nanoseconds: .min), Moment(nanoseconds: .max))
        #expect(last - first > .seconds(18_446_744_073))
        #expect(first - last < .zero)
    }

    @Test("Wall time is clamped in the same way")
    func wallTime() {
        let now = WallTime(nanoseconds: 1_500_000_000)
        #expect((now + .milliseconds(-2500)).nanoseconds == -1_000_000_000)
        #expect((now + .seconds(Int64.max)).nanoseconds == Int64.max)
        #expect(now - WallTime(seconds: 3) == .milliseconds(-1500))
        #expect(
            WallTime(nanoseconds: .max) - WallTime(nanoseconds: .min) > .seconds(18_446_744_073)
        )
    }

    @Test("Each latency falls into the first bucket that is not below it")
    func buckets() {
        var histogram = LatencyHistogram()
        for milliseconds in [1, 5, 6, 40, 29_000, 31_000] {
            histogram.record(.milliseconds(milliseconds))
        }
        #expect(histogram.counts == [2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1])
        #expect(histogram.count == 6)
        #expect(histogram.sum == .milliseconds(60_052))
    }

    @Test("A counted time falls into the first bucket that is not below it")
    func counted() {
        let counter = LatencyCounter()
        for microseconds in [1, 1000, 1001, 10_000_000, 10_000_001] {
            counter.count(nanoseconds: Int64(microseconds) * 1000)
        }
        let histogram = counter.histogram
        #expect(histogram.counts == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
        #expect(histogram.sum == .microseconds(20_002_003))
    }
}

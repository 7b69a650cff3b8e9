import Testing

@testable import System

@Suite struct LatencyHistogramTests {
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

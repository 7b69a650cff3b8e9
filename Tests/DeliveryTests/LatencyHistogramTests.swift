import Testing

@testable import Delivery

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

    @Test("Shares name the bucket that holds them")
    func shares() {
        var histogram = LatencyHistogram()
        #expect(histogram.bound(ofShare: 0.5) == nil)
        for _ in 0..<99 { histogram.record(.milliseconds(20)) }
        histogram.record(.seconds(60))
        #expect(histogram.bound(ofShare: 0.5) == 0.025)
        #expect(histogram.bound(ofShare: 0.99) == 0.025)
        #expect(histogram.bound(ofShare: 1) == .infinity)
    }
}

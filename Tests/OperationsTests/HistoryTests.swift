import System
import Testing

@testable import Operations

@Suite struct HistoryTests {
    private func history() throws -> History {
        try History { fatalError("the test gives the samples") }
    }

    private func values(
        _ history: History,
        _ window: History.Window,
        _ series: Series
    ) -> [Double?] {
        history.view(window).series.first { $0.series == series }?.values ?? []
    }

    @Test("Counts become rates, levels stay, and a window keeps its length")
    func windows() throws {
        let history = try history()
        for second in 0..<7300 {
            var sample = Sample()
            sample[.accepted] = Double(5 * second)
            sample[.queuedLogs] = Double(second)
            history.append(sample, .now)
        }
        #expect(values(history, .minutes, .accepted) == Array(repeating: 5, count: 600))
        #expect(values(history, .hours, .accepted) == Array(repeating: 5, count: 729))
        #expect(values(history, .days, .accepted) == Array(repeating: 5, count: 121))
        #expect(values(history, .minutes, .queuedLogs).last == 7299)
        #expect(values(history, .minutes, .queuedLogs).first == 6700)
        #expect(values(history, .days, .queuedLogs).first == 60)
    }

    @Test("A count that began anew has no rate there")
    func anew() throws {
        let history = try history()
        for count in [10.0, 12, 3, 4] {
            var sample = Sample()
            sample[.delivered] = count
            history.append(sample, .now)
        }
        #expect(values(history, .minutes, .delivered) == [2, nil, 1])
    }
}

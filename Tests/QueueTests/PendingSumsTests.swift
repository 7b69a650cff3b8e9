import Queue
import System
import Testing

@testable import SQLiteQueue

@Suite struct PendingSumsTests {
    @Test("The first sum is reported at once, later ones once a minute")
    func onceAMinute() {
        var sums = PendingSums<String>()
        let start = Moment(nanoseconds: 1_000_000_000)
        #expect(sums.takeDue(start).isEmpty)
        sums.add(["a": 1])
        sums.add(["a": 2])
        #expect(sums.takeDue(start) == ["a": 3])
        sums.add(["a": 4, "b": 1])
        #expect(sums.takeDue(start + .seconds(1)) == ["b": 1])
        sums.add(["a": 5])
        #expect(sums.takeDue(start + .seconds(59)).isEmpty)
        #expect(sums.takeDue(start + .seconds(60)) == ["a": 9])
        #expect(sums.takeDue(start + .seconds(200)).isEmpty)
    }
}

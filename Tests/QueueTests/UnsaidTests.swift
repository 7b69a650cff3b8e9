import Queue
import System
import Testing

@testable import SQLiteQueue

@Suite struct UnsaidTests {
    @Test("A sum is said at once, and what comes then once a minute")
    func onceAMinute() {
        var unsaid = Unsaid<String>()
        let start = Moment(nanoseconds: 1_000_000_000)
        #expect(unsaid.takeDue(start).isEmpty)
        unsaid.add(["a": 1])
        unsaid.add(["a": 2])
        #expect(unsaid.takeDue(start) == ["a": 3])
        unsaid.add(["a": 4, "b": 1])
        #expect(unsaid.takeDue(start + .seconds(1)) == ["b": 1])
        unsaid.add(["a": 5])
        #expect(unsaid.takeDue(start + .seconds(59)).isEmpty)
        #expect(unsaid.takeDue(start + .seconds(60)) == ["a": 9])
        #expect(unsaid.takeDue(start + .seconds(200)).isEmpty)
    }
}

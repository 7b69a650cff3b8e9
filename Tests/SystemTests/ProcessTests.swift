import Glibc
import System
import Testing

@testable import System

@Suite
struct ProcessTests {
    @Test("A running thread shows its time on a core")
    func running() throws {
        let wake = try WakeUp()
        let mayEnd = try Interruption()
        let worker = try Worker("figures-test") {
            let start = Moment.now
            while Moment.now - start < .milliseconds(5) {}
            wake.signal()
            while !mayEnd.isSet {}
        }
        wake.wait()
        let figures = try #require(ThreadFigures.now.first { $0.name == "figures-test" })
        #expect(figures.cpu > .zero)
        mayEnd.set()
        worker.join()
    }

    @Test("A line of the kernel has the times in nanoseconds")
    func line() {
        let figures = ThreadFigures(name: "a", schedstat: "1500000 2000 7")
        #expect(figures?.cpu == .microseconds(1500))
        #expect(figures?.waited == .microseconds(2))
    }

    @Test("Another line counts as none", arguments: ["", "1 2", "1 x 3", "1 2 3 4"])
    func otherLines(_ line: String) {
        #expect(ThreadFigures(name: "a", schedstat: line) == nil)
    }

    @Test("A process that forbids core dumps has a limit of zero")
    func forbidden() async {
        await #expect(processExitsWith: .exitCode(7)) {
            var limit = rlimit()
            let isForbidden = CoreDumps.forbid()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            exit(isForbidden && limit.rlim_cur == 0 && limit.rlim_max == 0 ? 7 : 1)
        }
    }
}

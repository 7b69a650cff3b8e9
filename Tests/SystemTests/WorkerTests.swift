import Glibc
import Testing

@testable import System

@Suite struct WorkerTests {
    @Test("A worker's nice value is its own, and counts from the process's")
    func nice() throws {
        @Sendable func value() -> CInt { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        let before = value()
        let promise = try Promise<CInt>()
        let worker = try Worker("nice-test", nice: 3) { promise.bring(value()) }
        #expect(promise.wait() == min(before + 3, 19))
        #expect(value() == before)
        worker.join()
    }
}

import Glibc
import System
import Testing

@Suite struct ProcessLimitsTests {
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

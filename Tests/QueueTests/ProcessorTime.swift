import Glibc
import Queue

/// What was used of a processor: not more because the machine has other work, or its disk is slow.
enum ProcessorTime {
    static var ofThread: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }
    static var ofProcess: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }

    private static func time(of clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

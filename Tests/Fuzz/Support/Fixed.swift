import Logs
import System

/// The arguments of readers besides the input.
enum Fixed {
    static let arrival = WallTime(seconds: 1_736_843_400)
    static let timing = BatchTiming(arrival: arrival)
    /// Rules that make any log acceptable for SLS.
    static let strict = LogRules(times: .sls)
    /// Such logs are kept apart.
    static let apart = LogRules(times: .sls, late: .setAside, oversize: .setAside)

    /// The same rules, and damaged logs are repaired or set aside, too.
    static let mending = LogRules(times: .sls, damage: .setAside)

    /// Few enough that an input can reach them.
    static let limits = {
        var limits = LogLimits()
        limits.logs = 64
        limits.packages = 4
        limits.streams = 8
        limits.batches = 8
        limits.tags = 6
        limits.tagsBytes = 200
        limits.tagsGathered = 12
        limits.valueBytes = 600
        limits.unreadable = 5
        limits.unreadableBytes = 100
        limits.repairBytes = 300
        return limits
    }()
}

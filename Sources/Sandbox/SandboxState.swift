import SQLite
import System

/// The sandbox's mutable state, behind one lock.
struct SandboxState: ~Copyable {
    var archive: LogArchive
    var faults: FaultPlan
    var rateLimits: RateLimits
    var keys: KeyRing
    var poisons: Poisons
    var statistics: Statistics
    var random: SeededRandom
    var hasToldOfDrops = false

    init(_ configuration: SandboxConfiguration) throws(SQLiteError) {
        let limits = configuration.limits
        archive = try LogArchive(path: configuration.storage, limits: limits)
        faults = FaultPlan(capacity: limits.faultsMax)
        rateLimits = RateLimits(capacity: limits.rateLimitsMax)
        keys = KeyRing(configuration.keys, capacity: limits.keysMax)
        poisons = Poisons(capacity: limits.poisonsMax)
        statistics = Statistics(since: configuration.clock())
        random = SeededRandom(seed: configuration.seed)
    }
}

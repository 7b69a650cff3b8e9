import Queue
import SQLite
import System

/// Decides when the age of stored content begins.
///
/// A host may start in 1970 or in the future until it learns the time. Logs must not expire because
/// of such stamps: in doubt an age starts again.
final class AgeBook: StorePart {
    let context: StoreContext
    /// The owner keeps the basis for the next store.
    private(set) var basis = AgeBasis()

    init(_ context: StoreContext) {
        self.context = context
    }

    /// An earlier stamp comes from a clock that was not set.
    static let leastTime = WallTime.leastPlausible

    /// False while the clock is not set. Then nothing is too old.
    var knowsTime: Bool { now() >= Self.leastTime }

    /// The time at which the row's age begins.
    func begin(_ row: RowRecord) -> WallTime {
        begin(row.received, number: row.id)
    }

    /// The time at which the age of any other numbered content begins.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        if received < Self.leastTime { return basis.since }
        return number <= basis.inherited ? basis.begin(received, number: number) : received
    }

    func ageMax(of destination: QueuedDestination) -> Duration {
        destination.rules.ageMax ?? configuration.ageMax
    }

    /// The stamps of everything stored so far come from another process's clock, or from before a
    /// step.
    func inherit() {
        basis.inherited = context.lastNumber
        basis.since = now()
    }

    /// Keeps ages unchanged after a step of the clock. Returns the forward part of the step.
    func step(by step: Duration) throws(SQLiteError) -> Duration {
        inherit()
        // A step backwards does not tell which clock was right before.
        let forward = max(step, .zero)
        if forward > .zero {
            basis.step(by: forward)
            try basis.save(in: database)
        }
        return forward
    }

    /// Ages continue from the saved basis. If the owner reads the store again, they continue from
    /// the `known` basis, since the clock is the same.
    func recover(_ known: AgeBasis?) throws(SQLiteError) {
        let saved = try AgeBasis(database)
        if let known {
            basis = known
            // A salvage may have lost the highest numbers. The queue then gives them out again.
            basis.inherited = min(basis.inherited, context.lastNumber)
            basis.steppedThrough = min(basis.steppedThrough, context.lastNumber)
        } else {
            basis = saved
            inherit()
        }
        // If nothing with an earlier stamp is left, the next step begins a new sum.
        if basis.stepped > .zero, try !database.hasAny(upTo: basis.steppedThrough) {
            basis.stepped = .zero
            basis.steppedThrough = 0
        }
        guard
            basis.stepped.components.seconds != saved.stepped.components.seconds
                || basis.steppedThrough != saved.steppedThrough
        else { return }
        try basis.save(in: database)
    }
}

/// The clocks behind the stored time stamps.
struct AgeBasis: Equatable {
    /// The stamps of numbers up to this one come from another clock.
    var inherited: Int64 = 0
    /// The time at which the present clock began to count.
    var since = WallTime(nanoseconds: 0)
    /// The sum of forward steps since the numbers up to `steppedThrough`, in this or earlier
    /// processes.
    var stepped = Duration.zero
    var steppedThrough: Int64 = 0

    /// For a clock that steps back and forth. No age is greater than the range of time stamps.
    private static let steppedMax = Duration.nanoseconds(Int64.max)

    mutating func step(by step: Duration) {
        stepped = min(stepped + step, Self.steppedMax)
        steppedThrough = inherited
    }

    /// The time at which an age begins if its stamp comes from another clock.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        let step = number <= steppedThrough ? stepped : .zero
        // The sum could exceed the range of time stamps.
        return received < since && since - received > step ? received + step : since
    }
}

// MARK: - On the disk

extension AgeBasis {
    private static let steppedSetting = "clock_stepped"
    private static let throughSetting = "clock_stepped_through"

    /// Reads the basis that an earlier process saved.
    init(_ database: QueueDatabase) throws(SQLiteError) {
        let seconds = try database.settings.integer(Self.steppedSetting)
        stepped = min(max(.zero, .seconds(seconds)), Self.steppedMax)
        steppedThrough = max(0, try database.settings.integer(Self.throughSetting))
    }

    func save(in database: QueueDatabase) throws(SQLiteError) {
        try database.write()
        try database.settings.save(stepped.components.seconds, as: Self.steppedSetting)
        try database.settings.save(steppedThrough, as: Self.throughSetting)
    }
}

/// The time of day, continued by the clock since the boot. It follows a step of the system's time
/// only when the owner asks, who then knows that older stamps do not tell ages.
struct QueueClock: Sendable {
    let now: @Sendable () -> WallTime
    /// Follows the system's time. Returns the step since the last call.
    let follow: @Sendable () -> Duration

    init(
        _ now: @escaping @Sendable () -> WallTime,
        follow: @escaping @Sendable () -> Duration = { .zero }
    ) {
        self.now = now
        self.follow = follow
    }

    static func started() -> QueueClock {
        let ahead = Locked(WallTime.now.nanoseconds - Moment.now.nanoseconds)
        return QueueClock(
            { WallTime(nanoseconds: Moment.now.nanoseconds + ahead.withLock { $0 }) },
            follow: {
                let found = WallTime.now.nanoseconds - Moment.now.nanoseconds
                let step = ahead.withLock { ahead in
                    let step = found - ahead
                    // A smaller difference is the drift of the two clocks.
                    guard step.magnitude > 60_000_000_000 else { return Int64(0) }
                    ahead = found
                    return step
                }
                return .nanoseconds(step)
            }
        )
    }
}

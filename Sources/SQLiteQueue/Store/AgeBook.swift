import Queue
import SQLite
import System

/// Decides when the age of stored content begins.
///
/// A host may start in 1970 or in the future until it learns the time. Stamps of that period say
/// nothing about an age, and logs must not expire because of them. In doubt an age starts again.
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

    /// Notes that the stamps of everything stored so far come from another clock: an earlier
    /// process's or the clock before a step.
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

    /// At a start, ages continue from the saved basis. If the owner reads the store again, they
    /// continue from the `known` basis, since the clock is the same.
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

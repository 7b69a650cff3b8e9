import Queue
import SQLite
import System

/// From when the age of what is stored counts.
///
/// A host may start in 1970, or in a future, until it learns the time. Stamps of such a life say nothing about an age, and
/// logs must not expire for them; in doubt an age starts again.
final class AgeBook: StorePart {
    let context: StoreContext
    /// The owner keeps it for the store that comes after this one.
    private(set) var basis = AgeBasis()

    init(_ context: StoreContext) {
        self.context = context
    }

    /// An earlier stamp is from a clock that was not set.
    static let leastTime = WallTime.leastPlausible

    /// Without the time nothing can be too old.
    var knowsTime: Bool { now() >= Self.leastTime }

    /// From when the row's age counts.
    func begin(_ row: RowRecord) -> WallTime {
        begin(row.received, number: row.id)
    }

    /// The same of anything else that has a number of ours.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        if received < Self.leastTime { return basis.since }
        return number <= basis.inherited ? basis.begin(received, number: number) : received
    }

    func ageMax(of destination: QueuedDestination) -> Duration {
        destination.rules.ageMax ?? configuration.ageMax
    }

    /// Everything stored so far has the stamps of another clock, an earlier life's or that before a step.
    func inherit() {
        basis.inherited = context.lastNumber
        basis.since = now()
    }

    /// The clock was stepped: ages go on as they were. Returns by how much it went forward.
    func step(by step: Duration) throws(SQLiteError) -> Duration {
        inherit()
        // Backwards says nothing about who was right before.
        let forward = max(step, .zero)
        if forward > .zero {
            basis.step(by: forward)
            try basis.save(in: database)
        }
        return forward
    }

    /// At a start ages go on from what was saved; when the queue is read again, from what was `known`, since the
    /// clock is the same.
    func recover(_ known: AgeBasis?) throws(SQLiteError) {
        let saved = try AgeBasis(database)
        if let known {
            basis = known
            // What a salvage lost may have had the highest numbers, which then are given out again.
            basis.inherited = min(basis.inherited, context.lastNumber)
            basis.steppedThrough = min(basis.steppedThrough, context.lastNumber)
        } else {
            basis = saved
            inherit()
        }
        // Once nothing is left of what was stamped before, the next step begins a sum of its own.
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

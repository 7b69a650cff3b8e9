import SQLite
import System

// A host may start in 1970, or in a future, until it learns the time. Stamps of such a life say nothing
// about an age, and logs must not expire for them; in doubt an age begins anew.
extension OpenStore {
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
        if received < Self.leastTime { return ages.since }
        return number <= ages.inherited ? ages.begin(received, number: number) : received
    }

    /// Everything stored so far has the stamps of another clock, an earlier life's or that before a step.
    func inherit() {
        ages.inherited = ids.last
        ages.since = now()
    }

    /// The clock was stepped: ages go on as they were, and no stream waits for a time that was taken back.
    func clockStepped(by step: Duration) throws(SQLiteError) {
        inherit()
        // Backwards says nothing about who was right before.
        let forward = max(step, .zero)
        if forward > .zero {
            ages.step(by: forward)
            try ages.save(in: database)
        }
        for stream in everyStream {
            stream.oldest = min(stream.oldest + forward, ages.since)
        }
        scheduleAnew()
    }

    /// At a start ages go on from what was saved; when the queue is read anew, from what was `known`, since the
    /// clock is the same.
    func recoverAges(_ known: AgeBasis?) throws(SQLiteError) {
        let saved = try AgeBasis(database)
        if let known {
            ages = known
            // What a salvage lost may have had the highest numbers, which then are given out again.
            ages.inherited = min(ages.inherited, ids.last)
            ages.steppedThrough = min(ages.steppedThrough, ids.last)
        } else {
            ages = saved
            inherit()
        }
        // Once nothing is left of what was stamped before, the next step begins a sum of its own.
        if ages.stepped > .zero, try !database.hasAny(upTo: ages.steppedThrough) {
            ages.stepped = .zero
            ages.steppedThrough = 0
        }
        guard
            ages.stepped.components.seconds != saved.stepped.components.seconds
                || ages.steppedThrough != saved.steppedThrough
        else { return }
        try ages.save(in: database)
    }
}

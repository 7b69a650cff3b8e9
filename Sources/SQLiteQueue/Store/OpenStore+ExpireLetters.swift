import Queue
import SQLite
import System

extension OpenStore {
    /// Drops dead letters that are older than the operator allows, a bounded number at a time, and counts them
    /// as expired. Returns how many that were by destination. `hasExpiredLetters` tells when there are more.
    func expireLetters(atMost most: Int = 250) throws(SQLiteError) -> [String: Int] {
        hasExpiredLetters = false
        guard knowsTime else { return [:] }
        let due = now() - configuration.deadLetterAgeMax
        var portion = DeadQueries.Portion(letters: most, bytes: 4 << 20)
        // As of rows, see `begin`: what has the stamps of another clock began its age with this one at the
        // latest, and stamps of a clock that was not set say nothing.
        let isAnyInherited = ages.since <= due
        if isAnyInherited {
            let all = DeadLetterFilter()
            _ = try database.dead.queries.letters(matching: all, after: 0, through: ages.inherited)
            {
                portion.take($0)
            }
        }
        let first = isAnyInherited ? WallTime(nanoseconds: .min) : Self.leastTime
        if first <= due, !portion.isFull {
            try database.dead.letters(
                diedIn: first...due,
                inherited: isAnyInherited ? ages.inherited : ages.steppedThrough,
                inheritedUntil: isAnyInherited ? WallTime(nanoseconds: .min) : due - ages.stepped
            ) { portion.take($0) }
        }
        hasExpiredLetters = portion.isFull
        var expired: [String: Int] = [:]
        for letter in portion.letters {
            guard try exhume(letter) else { continue }
            let name = letter.record.stream.destination
            destination(name).change { $0.expired += 1 }
            destination(name).volumes.expired += letter.raw
            expired[name, default: 0] += 1
        }
        return expired
    }
}

extension WallTime {
    /// Saturates; durations here are not negative.
    fileprivate static func - (time: WallTime, duration: Duration) -> WallTime {
        let (seconds, attoseconds) = duration.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (rest, isTooEarly) = time.nanoseconds.subtractingReportingOverflow(whole)
        // An age without end stays one.
        guard !isTooLong, !isTooEarly else { return WallTime(nanoseconds: .min) }
        return WallTime(nanoseconds: rest &- attoseconds / 1_000_000_000)
    }
}

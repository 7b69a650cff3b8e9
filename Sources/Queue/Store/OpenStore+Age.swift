import System

// A host may start in 1970, or in a future, until it learns the time. Stamps of such a life say nothing
// about an age, and logs must not expire for them; in doubt an age begins anew.
extension OpenStore {
    /// 2025-01-01, before which no Sluice ran: an earlier stamp is from a clock that was not set.
    static let leastTime = WallTime(seconds: 1_735_689_600)

    /// Without the time nothing can be too old.
    var knowsTime: Bool { now() >= Self.leastTime }

    /// From when the row's age counts.
    func begin(_ row: RowRecord) -> WallTime {
        begin(row.received, number: row.id)
    }

    /// The same of anything else that has a number of ours.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        if received < Self.leastTime { return since }
        return number <= inherited ? min(received + stepped, since) : received
    }

    /// Everything stored so far has the stamps of another clock, an earlier life's or that before a step.
    func inherit() {
        inherited = ids.last
        since = now()
    }

    /// The clock was stepped: ages go on as they were, and no stream waits for a time that was taken back.
    func clockStepped(by step: Duration) {
        inherit()
        // Backwards says nothing about who was right before.
        let forward = max(step, .zero)
        stepped += forward
        for stream in everyStream {
            stream.oldest = min(stream.oldest + forward, since)
        }
        scheduleAnew()
    }
}

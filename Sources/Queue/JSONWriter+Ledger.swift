package import JSON

extension JSONWriter {
    package mutating func intake(_ tally: IntakeTally) {
        member("received", tally.received)
        member("filtered", tally.filtered)
        member("dropped", tally.dropped)
        member("routed", tally.routed)
        member("copies", tally.copies)
    }

    package mutating func ledger(_ ledger: Ledger) {
        member("accepted", ledger.accepted)
        member("delivered", ledger.delivered)
        member("queued", ledger.queued)
        member("dead", ledger.dead)
        member("expired", ledger.expired)
        member("discarded", ledger.discarded)
        member("skipped", ledger.skipped)
    }
}

package import JSON

extension JSONWriter {
    package mutating func ledger(_ ledger: Ledger) {
        member("accepted", ledger.accepted)
        member("delivered", ledger.delivered)
        member("queued", ledger.queued)
        member("dead", ledger.dead)
        member("expired", ledger.expired)
        member("discarded", ledger.discarded)
    }
}

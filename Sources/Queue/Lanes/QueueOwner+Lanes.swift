extension QueueOwner {
    /// Told twice, a packet must not be handed over twice.
    func noteRelane(_ number: Int64) {
        if handed.contains(number) { relanes.insert(number) }
    }

    func relane(in store: OpenStore) throws(SQLiteError) {
        for number in relanes { try store.relane(number) }
    }

    /// After a commit.
    func settleRelanes() {
        guard !relanes.isEmpty else { return }
        counts.relanes += relanes.count
        handed.subtract(relanes)
        relanes.removeAll()
    }
}

import SQLite

extension QueueOwner {
    func noteRelane(_ number: Int64) {
        if isGivenBack(number) { relanes.insert(number) }
    }

    func relane(in store: OpenStore) throws(SQLiteError) {
        for number in relanes { try store.relane(number) }
    }

    /// Nothing of it is on the disk: a store that is opened anew finds a packet that nobody holds.
    func postpone(_ number: Int64) {
        guard isGivenBack(number) else { return }
        takenBack([number])
        store?.postpone(number)
    }

    /// After a commit.
    func settleRelanes() {
        guard !relanes.isEmpty else { return }
        counts.relanes += relanes.count
        takenBack(relanes)
        relanes.removeAll()
    }
}

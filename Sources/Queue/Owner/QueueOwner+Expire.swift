import System

extension QueueOwner {
    /// Drops what is too old, in a transaction of its own that takes a bounded time: after an outage of days that
    /// may be most of the queue, and appends go on in between.
    func expireSome(in store: OpenStore) throws(SQLiteError) {
        let deadline = Moment.now + Self.expiryTime
        while let number = store.expiringPackets.last, Moment.now < deadline {
            store.expiringPackets.removeLast()
            if handed.contains(number) {
                door.recalls.insert(number)
            } else {
                try expire(number, in: store)
            }
        }
        let logs = try store.expire(until: deadline)
        var letters: [String: Int] = [:]
        while store.hasExpiredLetters, Moment.now < deadline {
            letters.merge(try store.expireLetters()) { $0 + $1 }
        }
        try store.commit()
        expiredUnsaid.merge(logs) { $0 + $1 }
        expiredLettersUnsaid.merge(letters) { $0 + $1 }
    }

    @discardableResult
    private func expire(_ number: Int64, in store: OpenStore) throws(SQLiteError) -> Bool {
        guard let name = store.packets[number]?.stream.key.destination else { return false }
        let logs = try store.expire(packet: number)
        if logs > 0 { expiredUnsaid[name, default: 0] += logs }
        return logs > 0
    }

    /// Delivery gave a packet back, because it could not be read or was recalled.
    func takeBack(_ number: Int64, in store: OpenStore) throws(SQLiteError) {
        if try !expire(number, in: store) { try mend(number, in: store) }
    }

    private static let expiryTime = Duration.milliseconds(8)

    func announceExpired() {
        for (destination, logs) in expiredUnsaid {
            journal.warning(
                "logs expired: they waited longer than max_age",
                ["destination": destination, "logs": logs]
            )
        }
        for (destination, letters) in expiredLettersUnsaid {
            journal.warning(
                "dead letters expired: they are older than their max_age",
                ["destination": destination, "letters": letters]
            )
        }
        expiredUnsaid.removeAll()
        expiredLettersUnsaid.removeAll()
    }
}

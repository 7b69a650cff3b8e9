import Queue
import SQLite
import System

extension QueueOwner {
    /// Drops what is too old, in a transaction of its own that takes a bounded time: after an outage of days that
    /// may be most of the queue, and appends go on in between.
    func expireSome(in store: OpenStore) throws(SQLiteError) {
        let deadline = Moment.now + Self.expiryTime
        var isolated: Set<Int64> = []
        while let number = store.expiringPackets.last, Moment.now < deadline {
            store.expiringPackets.removeLast()
            if let isolation = departures.isolation(of: number) {
                // Delivery has given it up already, so nobody would ask for its content.
                let outlet = store.packets[number]?.stream.outlet
                guard try expire(number, in: store) else { continue }
                if isolation.needs != nil { outlet?.roomWaiters -= 1 }
                isolated.insert(number)
            } else if let outlet = handed[number]?.outlet {
                recall(number, outlet)
            } else {
                try expire(number, in: store)
            }
        }
        losses.expired.merge(try store.expire(until: deadline)) { $0 + $1 }
        while store.hasExpiredLetters, Moment.now < deadline {
            losses.expiredLetters.merge(try store.expireLetters()) { $0 + $1 }
        }
        sayRecalls()
        try store.commit()
        departures.forget(isolated)
        takenBack(isolated)
        settleLosses()
    }

    @discardableResult
    private func expire(_ number: Int64, in store: OpenStore) throws(SQLiteError) -> Bool {
        guard let name = store.packets[number]?.stream.key.destination else { return false }
        let logs = try store.expire(packet: number)
        if logs > 0 { losses.expired[name, default: 0] += logs }
        return logs > 0
    }

    /// A recalled packet is back: too old, or as it was for another logstore.
    func handOverAgain(_ number: Int64, in store: OpenStore) throws(SQLiteError) {
        if try !expire(number, in: store) {
            store.packets[number]?.stream.outlet.sealedBefore.append(number)
        }
    }

    /// Delivery gave a packet back because it could not be read.
    func takeBack(_ number: Int64, in store: OpenStore) throws(SQLiteError) {
        if try !expire(number, in: store) { try mend(number, in: store) }
    }

    private static let expiryTime = Duration.milliseconds(8)

    /// Says once a minute, for each destination, how many expired.
    func announceExpired() {
        for (destination, logs) in expiredUnsaid.takeDue(.now) {
            journal.warning(
                "logs expired: they waited longer than max_age",
                ["destination": destination, "logs": logs]
            )
        }
        for (destination, letters) in expiredLettersUnsaid.takeDue(.now) {
            journal.warning(
                "dead letters expired: they are older than their max_age",
                ["destination": destination, "letters": letters]
            )
        }
    }
}

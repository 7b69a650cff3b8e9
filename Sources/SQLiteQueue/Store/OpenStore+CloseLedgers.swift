import Queue
import SQLite

extension OpenStore {
    /// The ledger must agree with the rows and the dead letters. Should it not, these are right, and the
    /// difference gets a place where an operator sees it.
    func closeLedgers(
        _ queued: [String: Int64]
    ) throws(SQLiteError) -> [(destination: String, counted: Int64, found: Int64)] {
        for name in queued.keys { _ = destination(name) }
        var repaired: [(destination: String, counted: Int64, found: Int64)] = []
        for destination in destinations.values {
            let aside = aside(of: destination.name)
            let found = (queued[destination.name] ?? 0) + aside.queued
            let dead = Int64(destination.deadLetters) + aside.dead
            let before = destination.ledger
            guard before.queued != found || before.dead != dead || !before.isClosed else {
                continue
            }
            repaired.append((destination.name, before.queued + before.dead, found + dead))
            destination.change { $0.close(queued: found, dead: dead) }
        }
        return repaired
    }
}

extension OpenStore {
    /// Logs and dead letters of the destination that lie in damaged databases and were not copied yet.
    func aside(of destination: String) -> (queued: Int64, dead: Int64) {
        remainders.reduce((0, 0)) { sum, remainder in
            (
                sum.0 + (remainder.queued[destination] ?? 0),
                sum.1 + (remainder.dead[destination] ?? 0)
            )
        }
    }
}

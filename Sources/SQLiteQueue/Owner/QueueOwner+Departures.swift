import Queue
import SQLite
import System

extension QueueOwner {
    /// Takes apart and removes what delivery gave back, of the first a bounded number.
    func takeDepartures(in store: OpenStore) throws(SQLiteError) {
        departures.discarded.removeAll()
        for (number, reason) in departures.discards {
            let name = store.packets[number]?.stream.key.destination
            let logs = try store.discard(number)
            if let name { departures.discarded.append((name, logs, reason)) }
        }
        try isolateSome(in: store)
    }

    /// What was done is durable.
    func settleDepartures() {
        let isolated = departures.isolated
        if !isolated.isEmpty {
            takenBack(isolated)
            departures.forget(isolated)
            departures.isolationsDone += isolated.count
            departures.isolated.removeAll()
        }
        guard !departures.discards.isEmpty else { return }
        takenBack(departures.discards.map(\.number))
        departures.discards.removeAll()
        for (name, logs, reason) in departures.discarded {
            departures.discardsOf[name, default: .init(last: reason)].logs += logs
            departures.discardsOf[name]?.last = reason
            departures.unsaidLogs += logs
        }
        departures.discarded.removeAll()
    }

    /// Says once a minute how many logs were dropped, and what the last ones were refused for.
    func announceDiscards() {
        guard departures.unsaidLogs > 0, departures.nextWarning <= .now else { return }
        departures.nextWarning = .now + .seconds(60)
        journal.warning(
            "logs are discarded: the configuration has refused packets dropped",
            [
                "logs": departures.unsaidLogs,
                "codes": Set(departures.discardsOf.values.map(\.last.code)).sorted()
                    .joined(separator: ","),
                "remedy": "see the destination's status, or set drop_unauthorized to false",
            ]
        )
        departures.unsaidLogs = 0
    }
}

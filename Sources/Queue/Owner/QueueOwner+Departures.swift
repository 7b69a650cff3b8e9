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

    private func isolateSome(in store: OpenStore) throws(SQLiteError) {
        departures.isolated.removeAll()
        departures.hasMore = false
        var rawBytes = 0
        for (number, reason) in departures.isolations {
            let packet = store.packets[number]
            if let packet, !hasRoom(toIsolate: packet, in: store) { continue }
            guard departures.isolated.count < Departures.packetsMax,
                rawBytes < Departures.rawBytesMax
            else {
                departures.hasMore = true
                return
            }
            rawBytes += packet?.record.raw ?? 0
            if try !store.isolate(number, because: reason) { try mend(number, in: store) }
            departures.isolated.insert(number)
        }
    }

    /// Taking apart writes before it frees, so it waits while the disk is nearly full: tried all the same, it
    /// would fail with everything else of its transaction. And a log dies only where dead letters have room; a
    /// little more than the bound, since it leaves the queue for it.
    private func hasRoom(toIsolate packet: QueuedPacket, in store: OpenStore) -> Bool {
        let most = configuration.bytesMax
        let hasRoom =
            roomBytes >= 2 * packet.record.raw + configuration.tuning.rowBytes
            && (packet.record.logs > 1 || store.bytes - most <= most / 8)
        if !hasRoom, departures.nextRoomWarning <= .now {
            departures.nextRoomWarning = .now + .seconds(60)
            journal.warning(
                "refused packets wait: there is no room for dead letters",
                [
                    "packets": departures.isolations.count, "bytes": store.bytes, "limit": most,
                    "remedy": "purge dead letters, free disk space or raise queue.max_bytes",
                ]
            )
        }
        return hasRoom
    }

    /// What was done is durable.
    func settleDepartures() {
        let isolated = departures.isolated
        if !isolated.isEmpty {
            handed.subtract(isolated)
            departures.isolations.removeAll { isolated.contains($0.number) }
            departures.isolationsDone += isolated.count
            departures.isolated.removeAll()
        }
        guard !departures.discards.isEmpty else { return }
        handed.subtract(departures.discards.map(\.number))
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

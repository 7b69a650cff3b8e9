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
        guard !departures.isolations.isEmpty else { return }
        try measureRoom(store)
        var bytes = 0
        for (index, isolation) in departures.isolations.enumerated() {
            guard departures.isolated.count < Departures.packetsMax, bytes < Departures.bytesMax
            else {
                departures.hasMore = true
                return
            }
            let number = isolation.number
            guard let packet = store.packets[number] else {
                departures.isolated.insert(number)
                continue
            }
            // Taking apart writes before it frees, so it waits while the disk is nearly full: tried all the
            // same, it would fail with everything else of its transaction.
            let cut = 2 * packet.record.raw + configuration.tuning.rowBytes
            let room = min(roomBytes - cut, store.roomForDeaths(of: packet.stream.destination))
            guard roomBytes >= cut, isolation.needs.map({ room >= $0 }) ?? true else {
                store.setAside(number)
                warnOfRoom(packet.stream.destination, in: store)
                continue
            }
            let before = store.bytes
            bytes += packet.record.raw
            switch try store.isolate(number, because: isolation.reason, room: room) {
            case .done: break
            case .damaged: try mend(number, in: store)
            case .waits(let needs):
                departures.isolations[index].needs = needs
                store.setAside(number)
                warnOfRoom(packet.stream.destination, in: store)
                continue
            }
            let grown = max(0, store.bytes - before)
            bytes += grown
            if roomBytes < .max { roomBytes = max(0, roomBytes - cut - grown) }
            departures.isolated.insert(number)
        }
    }

    private func warnOfRoom(_ destination: QueuedDestination, in store: OpenStore) {
        guard departures.nextRoomWarning <= .now else { return }
        departures.nextRoomWarning = .now + .seconds(60)
        journal.warning(
            "refused packets wait: there is no room for dead letters",
            [
                "packets": departures.isolations.count, "destination": destination.name,
                "bytes": destination.bytes, "limit": destination.rules.bytesMax,
                "queue_bytes": store.bytes, "queue_limit": configuration.bytesMax,
                "remedy": "purge dead letters, free disk space or raise max_bytes",
            ]
        )
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

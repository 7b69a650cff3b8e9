import Queue
import SQLite
import System

// What is taken apart grows: it waits while there is no room. Few packets of an outlet wait here, so that a backlog
// of bad logs costs no memory and no time; the others stay with the store, and are refused once more when some of
// these are done.
extension QueueOwner {
    func isolateSome(in store: OpenStore) throws(SQLiteError) {
        departures.isolated.removeAll()
        departures.hasMore = false
        guard departures.isIsolating else { return }
        try measureRoom(store)
        var bytes = 0
        for line in departures.waiting.values {
            // Those behind it need more.
            for isolation in line {
                guard let needs = isolation.needs, has(needs, for: isolation, in: store) else {
                    break
                }
                guard mayTakeApart(bytes) else { return }
                try isolate(isolation, in: store, &bytes)
            }
        }
        for isolation in departures.isolations {
            guard mayTakeApart(bytes) else { return }
            try isolate(isolation, in: store, &bytes)
        }
    }

    private func mayTakeApart(_ bytes: Int) -> Bool {
        departures.hasMore =
            departures.isolated.count >= Departures.packetsMax || bytes >= Departures.bytesMax
        return !departures.hasMore
    }

    /// Taking apart writes before it frees, so it waits while the disk is nearly full: tried all the same, it would
    /// fail with everything else of its transaction.
    private func space(for packet: QueuedPacket) -> Int {
        2 * packet.record.raw + configuration.tuning.rowBytes
    }

    private func has(_ needs: Int, for isolation: Departures.Isolation, in store: OpenStore) -> Bool
    {
        guard let packet = store.packets[isolation.number] else { return true }
        let free = roomBytes - space(for: packet)
        return free >= 0
            && min(free, store.roomForDeaths(of: packet.stream.destination)) >= needs
    }

    private func isolate(
        _ isolation: Departures.Isolation,
        in store: OpenStore,
        _ bytes: inout Int
    ) throws(SQLiteError) {
        let number = isolation.number
        guard let packet = store.packets[number] else {
            departures.isolated.insert(number)
            return
        }
        let outlet = packet.stream.outlet
        let free = roomBytes - space(for: packet)
        guard free >= 0 else { return wait(isolation, for: 0, packet, in: store) }
        let room = min(free, store.roomForDeaths(of: packet.stream.destination))
        let before = store.bytes
        bytes += packet.record.raw
        switch try store.isolate(number, because: isolation.reason, room: room) {
        case .done: break
        case .damaged: try mend(number, in: store)
        case .waits(let needs): return wait(isolation, for: needs, packet, in: store)
        }
        if isolation.needs != nil { outlet.roomWaiters -= 1 }
        let grown = max(0, store.bytes - before)
        bytes += grown
        if roomBytes < .max { roomBytes = max(0, free - grown) }
        departures.isolated.insert(number)
    }

    private func wait(
        _ isolation: Departures.Isolation,
        for needs: Int,
        _ packet: QueuedPacket,
        in store: OpenStore
    ) {
        let outlet = packet.stream.outlet
        store.setAside(isolation.number)
        warnOfRoom(outlet.destination, in: store)
        if isolation.needs == nil {
            guard outlet.roomWaiters < QueuedOutlet.roomWaitersMax else {
                // Nothing of this is on the disk: a store that is opened anew finds a packet that nobody holds.
                departures.forget([isolation.number])
                takenBack([isolation.number])
                outlet.heldBack.append(isolation.number)
                return
            }
            outlet.roomWaiters += 1
        }
        departures.wait(isolation, for: needs, of: outlet.name.destination)
    }

    private func warnOfRoom(_ destination: QueuedDestination, in store: OpenStore) {
        guard departures.nextRoomWarning <= .now else { return }
        departures.nextRoomWarning = .now + .seconds(60)
        journal.warning(
            "refused packets wait: there is no room for dead letters",
            [
                "packets": departures.isolationCount, "destination": destination.name,
                "bytes": destination.bytes, "limit": destination.rules.bytesMax,
                "queue_bytes": store.bytes, "queue_limit": configuration.bytesMax,
                "remedy": "purge dead letters, free disk space or raise max_bytes",
            ]
        )
    }
}

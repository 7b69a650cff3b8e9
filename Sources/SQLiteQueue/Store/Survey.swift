import Queue
import System

/// What is found of a destination when all streams and packets are walked, once in a while.
struct Survey {
    var oldest: WallTime?
    var outlets: [String: QueueStatus.Outlet] = [:]
}

extension OpenStore {
    func survey(_ demand: Demand) -> [String: Survey] {
        // Noted in the outlets: looking each up by name would cost more than the walk.
        for destination in destinations.values {
            for outlet in destination.outlets.values { outlet.seen = QueueStatus.Outlet() }
        }
        for stream in everyStream where stream.waitingRows > 0 {
            stream.outlet.see(logs: stream.waitingLogs, since: stream.oldest)
        }
        for packet in packets.values {
            packet.stream.outlet.see(logs: packet.record.logs, since: packet.record.oldest)
            packet.stream.outlet.seen.packets += 1
        }
        return destinations.mapValues { destination in
            var survey = Survey()
            for (logstore, outlet) in destination.outlets where outlet.seen.queued > 0 {
                outlet.seen.demand = demand.byOutlet[outlet.name] ?? 0
                outlet.seen.lanesInUse = outlet.lanes.busyCount
                survey.outlets[logstore] = outlet.seen
                let oldest = outlet.seen.oldest
                survey.oldest = [survey.oldest, oldest].compactMap(\.self).min()
            }
            return survey
        }
    }
}

extension QueuedOutlet {
    fileprivate func see(logs: Int, since time: WallTime) {
        seen.queued += logs
        seen.oldest = seen.oldest.map { min($0, time) } ?? time
    }
}

import JSON
import Operations
import Queue
import System

extension JSONWriter {
    /// What of a destination waits in the queue, and what may.
    mutating func backlog(_ destination: QueueStatus.Destination, now: WallTime) {
        member("admission", destination.admission.name)
        member("bytes", destination.bytes)
        member("bytes_max", destination.bytesMax)
        member("packets", destination.packets)
        member("lanes", destination.lanes)
        age("oldest_seconds", of: destination.oldest, now: now)
        member("dead_bytes", destination.deadBytes)
        member("dropped_logs", destination.dropped)
        member("refused_logs", destination.refusedLogs)
        member("last_refusal", destination.lastRefusal.map { "\($0.code): \($0.message)" })
        member("logstores", destination.logstores)
        member("logstores_max", destination.logstoresMax)
    }

    /// Nothing where there is no time.
    mutating func age(_ name: String, of time: WallTime?, now: WallTime) {
        guard let time else { return member(name, String?.none) }
        member(name, seconds: now - time)
    }
}

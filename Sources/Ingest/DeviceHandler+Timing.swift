import HTTP
import Logs
import System

extension DeviceHandler {
    /// The time of logs that bring none, and the skew of the device's clock. Both are measured at the arrival of the
    /// head: a large body may take minutes, and then wait for a worker.
    func timing(_ head: RequestHead, for destination: String) -> BatchTiming {
        var timing = BatchTiming(arrival: head.arrival, offset: shared.clockOffset(destination))
        guard let shown = head.field("x-log-client-time") else { return timing }
        if let skew = ClockSkew(clientTime: shown, received: head.arrival) {
            timing.skew = skew
        } else {
            shared.counters.countUnusableClock()
        }
        return timing
    }
}

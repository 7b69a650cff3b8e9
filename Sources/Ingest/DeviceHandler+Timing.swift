import HTTP
import Logs
import System

extension DeviceHandler {
    /// When a batch came, by the true clock and by the device's. What the device's clock showed is held
    /// against the arrival of the head, which was sent with it: a large body may take minutes.
    func timing(_ head: RequestHead, for destination: String) -> BatchTiming {
        let plain = BatchTiming(arrival: .now, offset: shared.clockOffset(destination))
        guard let shown = head.field("x-log-client-time") else { return plain }
        guard let skew = ClockSkew(clientTime: shown, received: head.arrival) else {
            shared.counters.countUnusableClock()
            return plain
        }
        return BatchTiming(arrival: plain.arrival, skew: skew, offset: plain.offset)
    }
}

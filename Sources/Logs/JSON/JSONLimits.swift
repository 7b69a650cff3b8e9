import System

/// What a JSON body may contain. SLS's own limits where it has them: a log beyond them would make SLS
/// refuse the whole packet it travels in.
package struct JSONLimits: Sendable, Equatable {
    /// A field's name.
    package var keyBytes = 128
    /// A field's value.
    package var valueBytes = 1 << 20
    /// Objects and arrays inside each other, the outermost included; 64 at most.
    package var depth = 64
    /// Logs in one body. SLS has no number any more; its Python SDK stops at 512,000.
    package var logs = 1 << 19
    package var topicBytes = 128
    package var sourceBytes = 128
    /// Tags of one request, and their bytes: they are kept with every packet of their stream.
    package var tags = 128
    package var tagsBytes = 8 << 10

    /// Logs that claim another time than these get their arrival as time and keep theirs as the field
    /// `__original_time__`. Nil believes every device.
    package var times: TimeWindow?

    package init() {}
}

/// How far from its arrival a log may have happened.
package struct TimeWindow: Sendable, Equatable {
    package var past: Duration
    package var future: Duration

    package init(past: Duration, future: Duration) {
        self.past = past
        self.future = future
    }

    /// What SLS takes (facts 1.7): a packet with one log outside is refused as a whole. An hour is
    /// left for the way.
    package static let sls = TimeWindow(
        past: .seconds(7 * 86_400 - 3600),
        future: .seconds(14 * 60)
    )

    /// The seconds that are believed at this moment.
    func seconds(around arrival: WallTime) -> ClosedRange<UInt32> {
        let earliest = arrival.seconds - past.components.seconds
        let latest = arrival.seconds + future.components.seconds
        return UInt32(clamping: earliest)...UInt32(clamping: max(earliest, latest))
    }
}

/// The treatment of logs that SLS would refuse, each with its whole packet. It differs from
/// destination to destination, so it comes with each body.
package struct LogRules: Sendable, Equatable {
    /// The treatment of a log whose own time lies outside the window.
    package enum Late: Sendable {
        /// It gets its arrival as time, and keeps its own as the field `__original_time__`.
        case rewrite
        case drop
        /// It is kept with its own time, apart from the others.
        case setAside
    }

    /// The treatment of a log with a name or a value that is too long.
    package enum Oversize: Sendable {
        /// It stays as it is.
        case keep
        /// The name or value is cut, and the field `__truncated__` says so.
        case cut
        /// It is kept whole, apart from the others.
        case setAside
    }

    /// The treatment of damaged JSON: bytes that are not UTF-8, raw control characters, logs that
    /// are not JSON.
    package enum Damage: Sendable {
        /// The whole body is refused.
        case refuse
        /// Bytes are replaced. Logs that are still unreadable are kept as text, apart from the
        /// others.
        case setAside
    }

    /// Nil believes every device.
    package var times: TimeWindow?
    package var late: Late
    package var oversize: Oversize
    package var damage: Damage

    package init(
        times: TimeWindow? = nil,
        late: Late = .rewrite,
        oversize: Oversize = .cut,
        damage: Damage = .refuse
    ) {
        self.times = times
        self.late = late
        self.oversize = oversize
        self.damage = damage
    }
}

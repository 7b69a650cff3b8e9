/// What is done with logs that SLS would refuse, and a whole packet with each of them. It differs from
/// destination to destination, so it comes with each body.
package struct LogRules: Sendable, Equatable {
    /// What becomes of a log whose own time lies outside the window.
    package enum Late: Sendable {
        /// It gets its arrival as time, and keeps its own as the field `__original_time__`.
        case rewrite
        case drop
        /// It is kept with its own time, apart from the others.
        case setAside
    }

    /// What becomes of a log with a name or a value that is too long.
    package enum Oversize: Sendable {
        /// The name or value is cut, and the field `__truncated__` says so.
        case cut
        /// It is kept whole, apart from the others.
        case setAside
    }

    /// What becomes of JSON that is damaged: bytes that are not UTF-8, raw control characters, logs that are not JSON.
    package enum Damage: Sendable {
        /// Nothing of the body is taken.
        case refuse
        /// Bytes are replaced, and logs that cannot be read even so are kept as text, apart from the others.
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

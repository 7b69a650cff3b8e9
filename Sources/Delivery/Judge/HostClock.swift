/// What is said of a host whose clock is so wrong that SLS refuses the times of its logs.
enum HostClock {
    /// `offset` is SLS's clock minus the host's.
    static func remedy(for offset: Duration) -> String {
        let seconds = offset.components.seconds
        return
            "the clock of this host is \(seconds.magnitude) s \(seconds < 0 ? "ahead" : "behind"): "
            + "set it (NTP); until then no log is given up for its time"
    }
}

import Queue

/// The number of packets that delivery has requested and not received. It is bounded because the
/// queue seals at hand-over: delivery cannot make the queue seal far ahead.
struct Demand {
    static let most = 4096

    private(set) var byOutlet: [Outlet: Int] = [:]
    /// Sums over all outlets of a destination.
    private(set) var totals: [String: Int] = [:]

    mutating func raise(_ outlet: Outlet, by count: Int) {
        let before = byOutlet[outlet] ?? 0
        let after = min(Self.most, before + max(0, min(count, Self.most)))
        byOutlet[outlet] = after
        totals[outlet.destination, default: 0] += after - before
    }

    /// Counts one packet that was handed over.
    mutating func meet(_ outlet: Outlet) {
        guard let left = byOutlet[outlet], left > 0 else { return }
        byOutlet[outlet] = left - 1
        totals[outlet.destination, default: 0] -= 1
    }

    /// Drops the demand for an outlet that was removed.
    mutating func drop(_ outlet: Outlet) {
        guard let left = byOutlet.removeValue(forKey: outlet) else { return }
        totals[outlet.destination, default: 0] -= left
    }
}

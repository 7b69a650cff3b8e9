/// How many packets delivery may still be given. Bounded, since what is handed over is sealed: nobody can make
/// the queue seal much ahead of what is sent.
struct Demand {
    static let most = 4096

    private(set) var byOutlet: [Outlet: Int] = [:]
    /// Of any outlet of a destination.
    private(set) var byDestination: [String: Int] = [:]
    /// Of a destination in either way.
    private(set) var totals: [String: Int] = [:]

    mutating func raise(_ outlet: Outlet, by count: Int) {
        let before = byOutlet[outlet] ?? 0
        let after = Self.sum(before, count)
        byOutlet[outlet] = after
        totals[outlet.destination, default: 0] += after - before
    }

    mutating func raise(_ destination: String, by count: Int) {
        let before = byDestination[destination] ?? 0
        let after = Self.sum(before, count)
        byDestination[destination] = after
        totals[destination, default: 0] += after - before
    }

    private static func sum(_ before: Int, _ more: Int) -> Int {
        min(most, before + max(0, min(more, most)))
    }

    /// One packet was handed over. Those that were asked for by outlet are gathered first.
    mutating func meet(_ outlet: Outlet) {
        let name = outlet.destination
        if let left = byOutlet[outlet], left > 0 {
            byOutlet[outlet] = left - 1
        } else if let left = byDestination[name], left > 0 {
            byDestination[name] = left - 1
        } else {
            return
        }
        totals[name, default: 0] -= 1
    }

    mutating func forget(_ outlet: Outlet) {
        guard let left = byOutlet.removeValue(forKey: outlet) else { return }
        totals[outlet.destination, default: 0] -= left
    }
}

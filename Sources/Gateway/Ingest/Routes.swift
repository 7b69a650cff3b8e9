import Synchronization
import System

/// The routing table in use: read with each request, replaced with a reload.
package final class Routes: Sendable {
    private let table: Locked<RoutingTable>
    /// Counted up after the table has changed, so that who sees the new number finds the new table.
    private let generation = Atomic<Int>(0)

    package init(_ table: RoutingTable) {
        self.table = Locked(table)
    }

    func replace(_ new: RoutingTable) {
        table.withLock { $0 = new }
        generation.add(1, ordering: .releasing)
    }

    /// A loop's own copy of the table. While that stays the same, a look at one number is all it costs.
    struct Snapshot {
        private let routes: Routes
        private let generation: Int
        let table: RoutingTable

        init(of routes: Routes) {
            self.routes = routes
            generation = routes.generation.load(ordering: .acquiring)
            table = routes.table.withLock { $0 }
        }

        mutating func refresh() {
            guard routes.generation.load(ordering: .acquiring) != generation else { return }
            self = Snapshot(of: routes)
        }
    }
}

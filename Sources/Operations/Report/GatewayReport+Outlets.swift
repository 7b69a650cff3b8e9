package import Delivery
package import Queue

extension GatewayReport {
    /// One logstore of a destination, as queue and delivery see it.
    package struct Outlet: Sendable {
        package let logstore: String
        package let queue: QueueStatus.Outlet
        /// Nil where nothing was sent yet.
        package let delivery: OutletStatus?
    }
}

extension GatewayReport.Destination {
    /// Those that have logs, or had some lately, by name.
    package var outlets: [GatewayReport.Outlet] {
        let delivered = Dictionary(
            delivery.outlets.map { ($0.logstore, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        return Set(queue.outlets.keys).union(delivered.keys).sorted().map {
            .init(
                logstore: $0,
                queue: queue.outlets[$0] ?? .init(),
                delivery: delivered[$0]
            )
        }
    }
}

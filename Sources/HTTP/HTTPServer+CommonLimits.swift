import Net
package import System

extension HTTPServer {
    /// Limits that several servers share: a second port must not double the resources that clients can take.
    package struct CommonLimits: Sendable {
        let connections: Int
        let budgets: Budgets
        let census: ConnectionCount

        package init(_ limits: Limits, _ journal: Journal) {
            connections = HTTPServer.connections(
                within: limits.connections,
                descriptors: DescriptorLimit.raise(),
                journal
            )
            budgets = Budgets(limits)
            census = ConnectionCount(
                limit: connections,
                perNeighbourhood: limits.connectionsPerAddress
            )
        }
    }
}

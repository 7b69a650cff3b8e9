import Net
package import System

extension HTTPServer {
    /// The bounds of connections and of what they hold for servers that count together: a second port must not double what
    /// strangers can take.
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

import Net
package import System

extension HTTPServer {
    /// The bounds of connections and of bodies for servers that count together: a second port must not double what
    /// strangers can take.
    package struct CommonLimits: Sendable {
        let connections: Int
        let budget: BodyBudget
        let census: Census

        package init(_ limits: Limits, _ journal: Journal) {
            connections = HTTPServer.connections(
                within: limits.connections,
                descriptors: DescriptorLimit.raise(),
                journal
            )
            budget = BodyBudget(limit: limits.inFlightBodyBytes)
            census = Census(
                limit: connections,
                perNeighbourhood: limits.connectionsPerAddress
            )
        }
    }
}

import CommitLog
import System

/// Which shard becomes a gateway's home.
enum HomeChoice {
    /// The home of the node's last life, if it is not listed although nothing tells that it is gone.
    static func unlisted(
        of node: String,
        among shards: [ShardEnd],
        _ registers: [String: Register]
    ) -> String? {
        let homes = registers.values.compactMap { NodeRegister($0.value) }
            .filter { $0.node == node }.compactMap(\.home)
        return homes.first { home in
            registers[ShardDirectories.goneRegister(of: home)] == nil
                && !shards.contains { $0.name == home }
        }
    }

    /// One that began as this node's home and that no other gateway claims, else a new one.
    static func choose(
        for node: String,
        among shards: [ShardEnd],
        _ registers: [String: Register],
        besides lost: Set<String> = []
    ) -> (name: String, isNew: Bool) {
        let nodes = registers.values.compactMap { NodeRegister($0.value) }
        let others = Set(nodes.filter { $0.node != node }.flatMap(\.shards.keys))
        let free = shards.map(\.name).filter { name in
            ShardName.node(of: name) == node && !others.contains(name) && !lost.contains(name)
        }
        let last = nodes.first { $0.node == node && $0.home.map(free.contains) ?? false }?.home
        // Others of the kind are adopted later.
        guard let name = last ?? free.min() else { return (ShardName.new(for: node), true) }
        return (name, false)
    }
}

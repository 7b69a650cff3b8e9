import CommitLog
import System

/// Which shard becomes a gateway's home.
struct HomeChoice {
    private let node: String
    private let shards: Set<String>
    private let registers: [String: Register]
    /// The gateways that have told of themselves, this one's earlier lives among them.
    private let nodes: [NodeRegister]

    init(for node: String, among shards: [ListedShard], _ registers: [String: Register]) {
        self.node = node
        self.shards = Set(shards.map(\.name))
        self.registers = registers
        nodes = registers.values.compactMap { NodeRegister($0.value) }
    }

    /// Earlier lives of this gateway, and others with its name.
    func namesakes(of own: NodeRegister) -> [NodeRegister] {
        nodes.filter { $0.node == node && $0.life != own.life }
    }

    /// The home of the node's last life, if it is not listed although nothing tells that it is
    /// gone.
    var unlisted: String? {
        nodes.filter { $0.node == node }.compactMap(\.home).first { home in
            registers[ShardDirectories.goneRegister(of: home)] == nil && !shards.contains(home)
        }
    }

    /// True if the register tells nothing of shards that may be there, but for this one. A shard
    /// that is not listed may be.
    func mayForget(_ register: NodeRegister, besides shard: String) -> Bool {
        register.shards.keys.allSatisfy { name in
            name == shard || registers[ShardDirectories.goneRegister(of: name)] != nil
        }
    }

    /// The last entry that the log of a shard had, as its owners told.
    func lastEntry(of shard: String) -> UInt64 { nodes.lastEntry(of: shard) }

    /// One that began as this node's home and that no other gateway claims, else a new one.
    func choose(besides lost: Set<String> = []) -> (name: String, isNew: Bool) {
        let others = Set(nodes.filter { $0.node != node }.flatMap(\.shards.keys))
        let free = shards.filter { name in
            ShardName.node(of: name) == node && !others.contains(name) && !lost.contains(name)
        }
        let last = nodes.first { $0.node == node && $0.home.map(free.contains) ?? false }?.home
        // Others of the kind are adopted later.
        guard let name = last ?? free.min() else { return (ShardName.new(for: node), true) }
        return (name, false)
    }
}

package import CommitLog
package import System

/// The shards of a cluster as listed and as claimed in registers, for `sluice shards`.
package struct ShardListing: Equatable, Sendable {
    /// A gateway that says that a shard is its own, or that it reads the log to take it.
    package struct Claim: Equatable, Sendable {
        package let node: String
        /// 0: it reads the log, and below it wants to.
        package let epoch: Int
        package var isReading: Bool { epoch <= NodeRegister.readingEpoch }
        package let isHome: Bool
        package let isStopped: Bool
    }

    package struct Row: Equatable, Sendable {
        package let name: String
        /// The log's last entry; nil: there is no such log.
        package let last: UInt64?
        /// The latest epoch comes first: the fence let it take the shard after the others.
        package let claims: [Claim]
        /// When the shard was absorbed or moved, if a register says so.
        package let gone: WallTime?

        package var owner: Claim? { claims.first }
    }

    package let rows: [Row]

    package init(_ shards: [ListedShard], _ registers: [String: Register]) {
        let ends = Dictionary(shards.map { ($0.name, $0.last) }) { max($0, $1) }
        let gone = ShardDirectories.gone(registers)
        var claims: [String: [Claim]] = [:]
        for (name, register) in registers where name.hasPrefix(NodeRegister.prefix) {
            guard let register = NodeRegister(register.value), register.name == name else {
                continue
            }
            for (shard, epoch) in register.shards {
                let claim = Claim(
                    node: register.node,
                    epoch: epoch,
                    isHome: register.home == shard,
                    isStopped: register.isStopped
                )
                claims[shard, default: []].append(claim)
            }
        }
        // Gateways that have stopped still name shards that others have absorbed since.
        let names = Set(ends.keys).union(claims.keys.filter { gone[$0] == nil })
        rows = names.sorted().map { name in
            Row(
                name: name,
                last: ends[name],
                claims: claims[name, default: []].sorted {
                    ($0.epoch, $1.isStopped ? 1 : 0, $1.node) > (
                        $1.epoch, $0.isStopped ? 1 : 0, $0.node
                    )
                },
                gone: gone[name]
            )
        }
    }

    /// Looks once. The cluster need not be opened: nothing is written.
    package static func read(_ cluster: any ClusterEngine) throws(CommitLogError) -> ShardListing {
        let shards = try cluster.shards()
        return ShardListing(shards, try cluster.registers())
    }

    package var isStrange: Bool { rows.contains { !$0.findings.isEmpty } }
}

extension ShardListing.Row {
    /// What an operator should look at, in sentences.
    package var findings: [String] {
        var findings: [String] = []
        if last == nil {
            findings.append(
                "its log is gone, and no register tells that it was absorbed; restore the log, or see what the gateway "
                    + "\(owner?.node ?? "") has in data_dir/shards"
            )
        } else if ShardName.node(of: name) == nil {
            findings.append(
                "no gateway gives such a name, so none adopts it; save it with sluice restore \(name) FILE, or remove its log "
                    + "from the servers"
            )
        } else if gone != nil {
            findings.append(
                "a register tells that its logs are elsewhere, but its log is still there; the gateway that absorbed it "
                    + "removes it soon, and after a move sluice restore --take does if it is run again"
            )
        } else if claims.isEmpty {
            findings.append(
                "no register claims it; a gateway that can adopt it does so within half a minute, else its status has "
                    + "the reason"
            )
        }
        let owners = Set(claims.filter { !$0.isStopped && $0.epoch > 0 }.map(\.node))
        if owners.count > 1 {
            let names = owners.sorted().joined(separator: ", ")
            findings.append("several gateways claim it (\(names)); the latest epoch has it")
        }
        return findings
    }
}

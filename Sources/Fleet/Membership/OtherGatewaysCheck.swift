package import CommitLog
import System

/// The other gateways of a cluster at this moment, as `sluice check` sees them.
package struct OtherGatewaysCheck {
    /// The nodes that answer, sorted.
    private let living: [String]
    private let node: String
    /// Why some cannot be of one cluster with this gateway, by their nodes.
    private let foreign: [String: String]
    /// How others keep their logs differently, by their nodes.
    private let unlike: [String: String]

    /// Call after the cluster's check. Waits half a second for gateways that do not answer.
    package init(
        of node: String,
        in cluster: any ClusterEngine,
        keyFingerprint: String?,
        destinations: [String]
    ) throws(CommitLogError) {
        // The check has read them, if they were made already.
        let registers = (try? cluster.registers()) ?? [:]
        let nodes = registers.values.compactMap { NodeRegister($0.value) }.filter { !$0.isStopped }
        self.node = node
        living = try Self.call(
            Set(nodes.map(\.node)),
            cluster,
            registers[MessageSeal.register]?.value ?? []
        ).sorted()
        var own = NodeRegister(node: node, life: "")
        own.keyFingerprint = keyFingerprint
        own.destinations = destinations
        own.durability = cluster.durability
        var (foreign, unlike): ([String: String], [String: String]) = ([:], [:])
        for other in nodes where other.node != node && living.contains(other.node) {
            foreign[other.node] = own.clusterMismatch(with: other)
            unlike[other.node] = own.durabilityMismatch(with: other)
        }
        (self.foreign, self.unlike) = (foreign, unlike)
    }

    private static func call(
        _ nodes: Set<String>,
        _ cluster: any ClusterEngine,
        _ key: [UInt8]
    ) throws(CommitLogError) -> Set<String> {
        guard !nodes.isEmpty else { return [] }
        // A name of its own, for the answers.
        let caller = "check-\(hex(randomBytes(4)))"
        let messenger = try cluster.messenger(for: caller, .silent)
        let messages = try CommitLogError.onSystem { () throws(SystemError) in
            try FleetMessages(
                messenger,
                node: caller,
                life: caller,
                keyFingerprint: nil,
                repeatsMax: 0,
                repeatsAgeMax: .zero
            )
        }
        messages.use(key: key)
        try messages.start()
        defer { messages.stop() }
        return messages.call(nodes)
    }

    package var text: String {
        let others = living.filter { $0 != node }
        var text =
            others.isEmpty
            ? "no other gateway answers"
            : "\(counted(others.count, "other gateway")): \(others.joined(separator: ", "))"
        if living.contains(node) {
            text +=
                "; a gateway \(node) runs, and a second one of that name would wait for its end: if it is not this "
                + "one, set another node"
        }
        if let (other, reason) = unlike.min(by: { $0.key < $1.key }) {
            text += "; \(other) keeps logs differently: \(reason)"
        }
        return text
    }

    package var problem: String? {
        guard let (other, reason) = foreign.min(by: { $0.key < $1.key }) else { return nil }
        return
            "the gateway \(other) is of another cluster with the same name (\(reason)); set another cluster for one "
            + "of them, or make them the same"
    }
}

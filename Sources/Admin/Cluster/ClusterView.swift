import HTTP
import Queue
import System

/// The gateways of the cluster as an operator's requests see them. Without a cluster this gateway is the only one.
///
/// Its calls may wait for other gateways, so they belong on the thread for long reads.
struct ClusterView: Sendable {
    /// A place of dead letters.
    struct Place: Equatable {
        /// nil: this gateway takes part in no cluster.
        let shard: String?
        /// nil: it is here.
        let node: String?
    }

    let store: any GatewayQueue

    /// Other gateways that live, and their shards.
    private var living: [FleetStatus.Node] {
        guard store.others != nil else { return [] }
        return (store.status.fleet?.others ?? []).filter(\.isAlive)
    }

    var otherNodes: Set<String> { Set(living.map(\.name)) }

    /// Shards that no gateway works on at this moment. Nobody sees or changes their letters.
    var unattended: Set<String> {
        (store.status.fleet?.unattended ?? []).subtracting(store.letterShards)
    }

    /// All places of dead letters in the order of their shards' names.
    var places: [Place] {
        let own = store.letterShards
        guard !own.isEmpty else { return [Place(shard: nil, node: nil)] }
        // One that two have is about to change its owner.
        let known = unattended.union(own)
        var places = own.map { Place(shard: $0, node: nil) }
        for node in living {
            places += node.shards.filter { !known.contains($0) }.map {
                Place(shard: $0, node: node.name)
            }
        }
        return places.sorted { ($0.shard ?? "") < ($1.shard ?? "") }
    }

    /// The other gateway that works on the shard; nil: none does.
    func node(of shard: String) -> String? { places.first { $0.shard == shard }?.node }

    func ask(_ nodes: Set<String>, _ question: ClusterQuestion) -> [String: [UInt8]] {
        let patience = question.isChange ? Self.patienceWithChanges : Self.patience
        return store.others?.ask(nodes, question.bytes, atMost: patience) ?? [:]
    }

    /// Lets another gateway answer the request.
    func relay(_ request: RelayedRequest, to node: String) -> Response {
        let answer = ask([node], .request(request))[node].flatMap { ClusterAnswer.response($0) }
        return answer ?? HTTPProblem(503, "ServerBusy", Self.silent([node])).response
    }

    private static let patience = Duration.seconds(2)
    /// A change of many letters takes a while, and who asked should learn that it was made.
    private static let patienceWithChanges = Duration.seconds(30)

    static func unattended(_ shard: String) -> String {
        "the shard \(printable(shard)) has no gateway at this moment"
    }

    static func silent(_ nodes: some Collection<String>) -> String {
        let names = nodes.sorted().joined(separator: ", ")
        return "the gateway\(nodes.count == 1 ? "" : "s") \(names) did not answer; try again"
    }
}

extension HTTPProblem {
    static let tooManyViews = HTTPProblem(
        503,
        "ServerBusy",
        "too many requests of operators are waiting; try again (for the queue with streams=0)"
    )
}

import HTTP
import Queue
import System

/// The gateways of the cluster as an operator sees them; without a cluster, only this one. Calls
/// may wait for other gateways: use the threads `views` and `changesElsewhere`.
struct ClusterView: Sendable {
    struct Place: Equatable {
        /// nil: this gateway takes part in no cluster.
        let shard: String?
        /// nil: it is here.
        let node: String?
    }

    /// Who has which shard at one moment.
    struct Sight {
        /// All places of dead letters in the order of their shards' names.
        var places: [Place]
        /// Other gateways that live.
        var nodes: Set<String> = []
        /// Shards that no gateway works on. Nobody sees or changes their letters.
        var unattended: Set<String> = []
        /// False: this gateway has not seen the cluster yet.
        var isWhole = true

        /// What answers name as missing if they are not known yet.
        var unseen: [String] { isWhole ? [] : ["other gateways"] }

        /// The other gateway that works on the shard; nil: none does.
        func node(of shard: String) -> String? { places.first { $0.shard == shard }?.node }
    }

    let store: any GatewayQueue

    func look() -> Sight {
        // A shard that is absorbed meanwhile is in the status, or among these.
        let own = store.letterShards
        guard store.others != nil, let fleet = store.status.fleet else {
            return Sight(places: own.isEmpty ? [Place(shard: nil, node: nil)] : [])
        }
        let living = fleet.others.filter(\.isAlive)
        // One that two have is about to change its owner.
        let known = fleet.unattended.union(own)
        var places = own.map { Place(shard: $0, node: nil) }
        for node in living {
            places += node.shards.filter { !known.contains($0) }.map {
                Place(shard: $0, node: node.name)
            }
        }
        return Sight(
            places: places.sorted { ($0.shard ?? "") < ($1.shard ?? "") },
            nodes: Set(living.map(\.name)),
            unattended: fleet.unattended.subtracting(own),
            isWhole: fleet.hasLooked
        )
    }

    /// Waits for their answers, but for a change no longer than until the deadline.
    func ask(
        _ nodes: Set<String>,
        _ request: RelayedRequest,
        until deadline: Moment = .now + patienceWithChanges
    ) -> [String: Response] {
        let patience = request.isChange ? deadline - .now : Self.patience
        guard patience > .zero else { return [:] }
        let answers = store.others?.ask(nodes, request.bytes, atMost: patience) ?? [:]
        return answers.mapValues { ClusterAnswer.response($0) ?? Self.unreadable.response }
    }

    func relay(_ request: RelayedRequest, to node: String) -> Response {
        ask([node], request)[node] ?? HTTPProblem.busy(Self.silent([node])).response
    }

    private static let unreadable = HTTPProblem.busy(
        "the answer of another gateway cannot be read; do all have the same version?"
    )
    private static let patience = Duration.seconds(2)
    /// A change of many letters takes a while, and who asked should learn that it was made.
    static let patienceWithChanges = Duration.seconds(30)

    static let unseen = "the other gateways are not known yet; try again"

    static func unattended(_ shard: String) -> String {
        "no gateway works on the shard \(printable(shard)) at this moment; one may be adopting it"
    }

    static func silent(_ nodes: Set<String>) -> String {
        "\(named(nodes)) did not answer; try again"
    }

    static func joined(_ nodes: Set<String>) -> String {
        "\(named(nodes)) came meanwhile and \(nodes.count == 1 ? "was" : "were") not asked; try again"
    }

    private static func named(_ nodes: Set<String>) -> String {
        "the gateway\(nodes.count == 1 ? "" : "s") \(nodes.sorted().map(printable).joined(separator: ", "))"
    }
}

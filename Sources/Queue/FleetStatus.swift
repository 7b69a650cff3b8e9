/// The shards of a gateway that takes part in a cluster, and what it knows of others.
package struct FleetStatus: Sendable, Equatable {
    package enum Role: String, Sendable {
        /// It takes the logs of this gateway's devices.
        case home
        /// It was another gateway's, and is emptied.
        case adopted
    }

    package struct Shard: Sendable, Equatable {
        package let name: String
        package let role: Role
        package let queued: Int
        package let bytes: Int
        package let log: CommitLogStatus
        /// nil: it works.
        package let problem: QueueError?

        package init(_ name: String, _ role: Role, _ status: QueueStatus) {
            self.name = name
            self.role = role
            queued = Int(status.ledger.queued)
            bytes = status.bytes
            log = status.commitLog ?? CommitLogStatus()
            problem = status.problem
        }
    }

    /// Another gateway of the cluster, as it told last.
    package struct Node: Sendable, Equatable {
        package let name: String
        package let version: String
        package let isAlive: Bool
        package let shards: [String]
        /// The sum over its destinations.
        package let ledger: Ledger
        /// What is wrong with its queue; nil: it works.
        package let problem: String?

        package init(
            name: String,
            version: String,
            isAlive: Bool,
            shards: [String],
            ledger: Ledger,
            problem: String?
        ) {
            self.name = name
            self.version = version
            self.isAlive = isAlive
            self.shards = shards
            self.ledger = ledger
            self.problem = problem
        }
    }

    /// What the gateways tell each other beside their logs.
    package struct Messages: Sendable, Equatable {
        /// Requests of other gateways that are remembered.
        package var knownRepeats = 0
        /// Requests answered as another gateway had done. Counted since the start, as is the next
        /// one.
        package var recognisedRepeats = 0
        /// Requests that the others were not told of, because the engine did not take the messages.
        package var untoldRepeats = 0
        /// Why the others cannot be heard; nil: they can.
        package var problem: String?

        package init() {}
    }

    package var node = ""
    /// Why the cluster cannot be reached; nil: it can.
    package var problem: String?
    package var shards: [Shard] = []
    /// Other gateways that live, or had a shard that has no other owner yet.
    package var others: [Node] = []
    /// How many shards the cluster has, those without a gateway among them.
    package var shardsOfCluster = 0
    /// Shards without a reader, whose gateway has stopped or was silent for long enough.
    package var orphans: [String] = []
    /// False: this gateway has not looked at the cluster yet.
    package var hasLooked = false
    /// Shards that no gateway works on now: orphans, those of gateways that have stopped or fallen
    /// silent, and those that are being adopted or absorbed.
    package var unattended: Set<String> = []
    /// The shard that is being read to adopt it.
    package var adopting: String?
    /// Why an orphan is not adopted, by its name.
    package var refusedOrphans: [String: String] = [:]

    // Since the start.
    package var adoptions = 0
    package var absorptions = 0
    /// Shards that another gateway took.
    package var losses = 0
    /// Home shards that could not be written, and in whose place this gateway began others.
    package var replacements = 0
    /// Packets delivered when another gateway had their shard, which delivers them again.
    package var lateAcknowledgements = 0
    package var messages = Messages()

    package init() {}
}

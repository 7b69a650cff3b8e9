package import System

/// What gateways share in an engine: the logs of their shards, small registers, and messages. Calls
/// block, at most some seconds, and may come from any thread.
package protocol ClusterEngine: Sendable {
    /// Makes what is missing and checks the rest against the settings. Call it first.
    func open() throws(CommitLogError)

    /// The shards that have a log. One that is made or removed at this moment may be missing.
    func shards() throws(CommitLogError) -> [ListedShard]

    /// The same of those alone that have these names.
    func shards(named names: Set<String>) throws(CommitLogError) -> [ListedShard]

    /// The log of a shard. Its `open` makes it.
    func log(of shard: String) -> any EngineLog

    /// The log of operators' decisions. `open(makes: true)` makes it.
    var control: any EngineLog { get }

    /// Removes a shard's log if it is there. Not fenced: never use the shard's name again.
    func remove(_ shard: String) throws(CommitLogError)

    /// All registers. Values of other gateways may be old; this gateway's own are not.
    func registers() throws(CommitLogError) -> [String: Register]

    /// Sets a register; nil removes it. The last one wins, and a failed call may count later: hints
    /// only.
    func set(_ register: String, to value: [UInt8]?) throws(CommitLogError)

    /// How this gateway and the others send messages to each other.
    func messenger(
        for node: String,
        _ journal: Journal
    ) throws(CommitLogError) -> any ClusterMessenger

    /// Throws unless a commit could be made durable now. Registers may need less.
    func confirm() throws(CommitLogError)

    /// Uses another server, if there are several: this one may be cut off from the others.
    func changeServer()

    /// How the logs that this gateway makes keep their entries.
    var durability: LogDurability { get }

    /// Tries what `open` and a shard's log need, without doing it. Returns a text for the operator.
    func check() throws(CommitLogError) -> String
}

extension ClusterEngine {
    package func shards(named names: Set<String>) throws(CommitLogError) -> [ListedShard] {
        try shards().filter { names.contains($0.name) }
    }
}

/// What an entry of a log survives.
package struct LogDurability: Equatable, Sendable {
    /// On disks of different servers; 1 where the storage itself has copies.
    package let copies: Int
    /// An entry is on disks before it is confirmed.
    package let isSynced: Bool

    package init(copies: Int, isSynced: Bool) {
        self.copies = copies
        self.isSynced = isSynced
    }
}

extension LogDurability: CustomStringConvertible {
    package var description: String {
        (copies == 1 ? "one copy" : "\(copies) copies") + (isSynced ? "" : " without syncs")
    }
}

/// A shard, and how far its log goes.
package struct ListedShard: Equatable, Sendable {
    package let name: String
    package let last: UInt64

    package init(name: String, last: UInt64) {
        self.name = name
        self.last = last
    }
}

/// A small value that all gateways of a cluster see.
package struct Register: Equatable, Sendable {
    package static let bytesMax = 64 << 10

    package let value: [UInt8]
    /// Another one after each `set`.
    package let revision: UInt64

    package init(value: [UInt8], revision: UInt64) {
        self.value = value
        self.revision = revision
    }
    /// Checks a register to be set. A name is words of letters, digits, `-_~`, joined by dots.
    package static func check(_ name: String, _ value: [UInt8]?) throws(CommitLogError) {
        let words = name.split(separator: ".", omittingEmptySubsequences: false)
        precondition(
            name.utf8.count <= nameBytesMax && words.allSatisfy(isWord),
            "\(name) is no name of a register"
        )
        guard let value, value.count > bytesMax else { return }
        throw .refused(
            "the register \(name) would have \(value.count) bytes, more than \(bytesMax)"
        )
    }

    private static let nameBytesMax = 200

    private static func isWord(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.allSatisfy { character in
                character.isASCII
                    && (character.isLetter || character.isNumber || "-_~".contains(character))
            }
    }
}

package import System

/// What the gateways of a cluster have in common in an engine: the logs of their shards, small
/// registers, and messages.
///
/// All calls block, at most some seconds, and may come from any thread.
package protocol ClusterEngine: Sendable {
    /// Makes what the cluster needs unless it is there, and checks that it is what the settings
    /// demand. The others work after it only.
    func open() throws(CommitLogError)

    /// The shards that have a log. One that is made or removed at this moment may be missing.
    func shards() throws(CommitLogError) -> [ListedShard]

    /// The log of a shard. Its `open` makes it.
    func log(of shard: String) -> any EngineLog

    /// The log of operators' decisions. `open(makes: true)` makes it.
    var control: any EngineLog { get }

    /// Removes the log of a shard for good; does nothing if there is none. It is not fenced, so a
    /// shard's name must never be used again.
    func remove(_ shard: String) throws(CommitLogError)

    /// All registers by name. They may be behind those that others have set, but not behind those
    /// that this gateway has.
    func registers() throws(CommitLogError) -> [String: Register]

    /// Sets a register; nil removes it. The last one wins, and a call that fails may count later,
    /// so only hints may depend on it.
    func set(_ register: String, to value: [UInt8]?) throws(CommitLogError)

    /// How this gateway and the others send messages to each other.
    func messenger(
        for node: String,
        _ journal: Journal
    ) throws(CommitLogError) -> any ClusterMessenger

    /// Throws unless the engine could make a commit durable at this moment. An engine may take
    /// registers without that.
    func confirm() throws(CommitLogError)

    /// Uses another server from now on, if there are several. This one may be cut off from the
    /// others.
    func changeServer()

    /// Finds out what `open` would do, and if a shard could have a log, without doing it. Returns
    /// what was found, for the operator.
    func check() throws(CommitLogError) -> String
}

/// A shard, and how far its log goes.
package struct ListedShard: Equatable, Sendable {
    package let name: String
    /// The number of the last entry.
    package let last: UInt64

    package init(name: String, last: UInt64) {
        self.name = name
        self.last = last
    }
}

/// A small value that all gateways of a cluster see.
package struct Register: Equatable, Sendable {
    /// What one may hold.
    package static let bytesMax = 64 << 10

    package let value: [UInt8]
    /// Another one after each `set`.
    package let revision: UInt64

    package init(value: [UInt8], revision: UInt64) {
        self.value = value
        self.revision = revision
    }
    /// Checks what is to be set. A name has words of letters, digits, `-`, `_` and `~`, joined by
    /// dots.
    package static func check(_ name: String, _ value: [UInt8]?) throws(CommitLogError) {
        let words = name.split(separator: ".", omittingEmptySubsequences: false)
        precondition(
            name.utf8.count <= nameBytesMax && words.allSatisfy(isWord),
            "\(name) is no name of a register"
        )
        guard let value, value.count > bytesMax else { return }
        throw CommitLogError(
            .refused,
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

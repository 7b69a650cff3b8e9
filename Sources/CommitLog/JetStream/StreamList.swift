import JSON

/// A page of the list of streams, and the shards of a cluster in it.
struct StreamList {
    private(set) var shards: [ListedShard] = []
    /// Where the next page begins; nil: this is the last one.
    private(set) var next: Int?

    /// Shards that a gateway takes note of.
    static let streamsMax = 10_000
    /// What servers put on a page.
    private static let pageSize = 256

    /// Streams that are no logs of this cluster are left out, and those whose leader has not told
    /// their state.
    init(_ answer: JSONValue, of cluster: String) throws(CommitLogError) {
        guard let streams = answer["streams"]?.elements ?? (answer["streams"] == nil ? [] : nil),
            let total = answer["total"]?.wholeNumber, let offset = answer["offset"]?.wholeNumber
        else { throw CommitLogError(.unreachable, "JetStream's answer has no list of streams") }
        let prefix = ClusterStream.logPrefix(of: cluster)
        for stream in streams {
            guard let name = stream["config"]?["name"]?.text, name.hasPrefix(prefix),
                let last = stream["state"]?["last_seq"]?.wholeNumber, last >= 0
            else { continue }
            let shard = String(name.dropFirst(prefix.count))
            // The cluster "a_Q_b" has streams with the prefix of the cluster "a".
            let subject = ClusterStream.subjectOfLog(of: shard, in: cluster)
            guard stream["config"]?["subjects"] == .array([.string(subject)]) else { continue }
            shards.append(ListedShard(name: shard, last: UInt64(last)))
        }
        // Servers leave out streams without a state, but count them.
        let end = offset + max(answer["limit"]?.wholeNumber ?? Self.pageSize, 1)
        if end < min(total, Self.streamsMax) { next = end }
    }
}

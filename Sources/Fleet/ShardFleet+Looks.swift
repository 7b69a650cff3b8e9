package import Queue
import SQLiteQueue
import System

extension ShardFleet: StreamLister {
    package func list(
        _ wish: StreamWish,
        _ answer: @escaping @Sendable (StreamListing?) -> Void
    ) {
        let shards = openShards
        let all = AnswerSum<[StreamListing]>([], waitingFor: shards.count) { listings in
            answer(listings.count == shards.count ? StreamListing(joining: listings, wish) : nil)
        }
        for shard in shards {
            shard.queue.list(wish) { listing in
                all.add { listings in listing.map { listings.append($0) } }
            }
        }
    }
}

extension StreamListing {
    fileprivate init(joining listings: [StreamListing], _ wish: StreamWish) {
        var joined: [String: Destination] = [:]
        for (name, found) in listings.flatMap({ Array($0.destinations) }) {
            let known = joined[name] ?? Destination()
            let entries = (known.entries + found.entries).sorted { left, right in
                switch wish.order {
                case .oldest: left.oldest < right.oldest
                case .largest: left.rawBytes > right.rawBytes
                }
            }
            joined[name] = Destination(
                entries: Array(entries.prefix(wish.count)),
                more: known.more + found.more + max(0, entries.count - wish.count)
            )
        }
        self.init(joined)
    }
}

extension ShardFleet: LogPeeker {
    package func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog] {
        var logs: [QueuedLog] = []
        for shard in openShards {
            logs += try shard.queue.oldestLogs(of: destination, logstore: logstore, limit: limit)
            logs.sort { $0.accepted < $1.accepted }
            logs = Array(logs.prefix(limit))
            logs = Array(logs.prefix(within: QueuedLog.bytesTogether))
        }
        return logs
    }
}

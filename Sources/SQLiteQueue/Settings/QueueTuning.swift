/// What measurements decided, at 400,000 logs of 150 bytes a second on two cores unless said otherwise.
/// Operators cannot set these; tests make them small.
package struct QueueTuning: Sendable {
    /// Database page size. Larger ones cost a little less processor time at a million logs a second (4 KiB
    /// 0.68 s, 8 KiB 0.64 s, 16 KiB 0.63 s per million), and each small commit writes more: 12, 24, 48 KiB.
    package var pageBytes = 8192
    /// SQLite's page cache of the owner.
    package var cacheBytes = 8 << 20
    /// Raw bytes that batches of one stream share in a row: lz4 gains nothing from more.
    package var rowBytes = 64 << 10
    /// Raw bytes of one transaction, so that those who wait for it wait a bounded time.
    package var transactionBytes = 8 << 20
    /// Raw bytes that may wait for a commit.
    package var waitingBytesMax = 64 << 20
    /// Compressed payloads kept in memory for delivery.
    package var recentBytesMax = 32 << 20
    /// Log size from which it is moved into the database. While packets leave as fast as batches come the
    /// size hardly matters, the same pages are written again and again. In an outage every page is new, and
    /// a client that waits during a checkpoint waits for all of them: ack p99 6 ms at 4 MiB, 13 ms at 16, 23 at 32.
    package var checkpointBytes = 4 << 20
    /// A commit starts this long after the one before it, unless `lingerBytes` wait: under load rows become
    /// larger and syncs fewer. Without it 2,700 commits a second took 1.57 s of processor time per million
    /// logs, with it 330 take 0.79 s.
    package var linger: Duration = .milliseconds(2)
    package var lingerBytes = 1 << 20
    /// How often free space, age and idle streams are looked at.
    package var housekeeping: Duration = .seconds(1)
    /// Free pages that the database keeps for the next burst.
    package var spareBytes = 32 << 20
    /// Free pages given back in one step.
    package var givenBackBytes = 4 << 20
    /// Empty streams that keep their pack id prefix, in case more logs of theirs arrive.
    package var idleStreams = 4096
    /// What these may cost together: most have a few hundred bytes of tags, some have tens of KiB.
    package var idleStreamBytes = 4 << 20
    /// First pause after a failed write; doubles up to `retryMax`.
    package var retryMin: Duration = .milliseconds(250)
    package var retryMax: Duration = .seconds(5)
    /// How long a damaged database is left alone that cannot be opened or read.
    package var asideRetry: Duration = .seconds(60)
    /// What the directory's files may take, as if the disk had no more; nil is as much as there is.
    package var diskBytes: Int?

    package init() {}
}

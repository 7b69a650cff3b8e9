/// Values from measurements, at 400,000 logs of 150 bytes a second on two cores unless stated
/// otherwise. Operators cannot set them. Tests make them small.
package struct QueueTuning: Sendable {
    /// Database page size. Larger pages cost a little less processor time at a million logs a
    /// second (4 KiB 0.68 s, 8 KiB 0.64 s, 16 KiB 0.63 s per million), but each small commit writes
    /// more: 12, 24, 48 KiB.
    package var pageBytes = 8192
    /// SQLite's page cache for the owner.
    package var cacheBytes = 8 << 20
    /// Raw bytes that batches of one stream share in a row. lz4 gains nothing from more.
    package var rowBytes = 64 << 10
    /// Raw bytes of one transaction, so that callers wait a bounded time for it.
    package var transactionBytes = 8 << 20
    /// Raw bytes that may wait for a commit.
    package var waitingBytesMax = 64 << 20
    /// Compressed payloads kept in memory for delivery.
    package var recentBytesMax = 32 << 20
    /// Log size at which it is moved into the database while more than this waits for delivery. In
    /// an outage every page is new, and a client that waits during a checkpoint waits for all of
    /// them: ack p99 is 6 ms at 4 MiB, 13 ms at 16, 23 at 32.
    package var checkpointBytes = 4 << 20
    /// The same while less waits, with full durability. Packets then leave before their pages are
    /// moved, and the next batches take the pages: the disk writes 8 to 19 % less at 16 MiB than at
    /// 4.
    package var longLogBytes: Int { 4 * checkpointBytes }
    /// A commit may wait for more requests until this long after the one before it, unless
    /// `lingerBytes` wait. Under load this makes rows larger and syncs fewer. Without a wait, 2,700
    /// commits a second took 1.57 s of processor time per million logs; with 330, it was 0.79 s.
    /// `CommitLinger` decides when a wait ends earlier.
    package var linger: Duration = .milliseconds(2)
    package var lingerBytes = 1 << 20
    /// The interval at which the owner checks free space, age and idle streams.
    package var housekeeping: Duration = .seconds(1)
    /// Free pages that the database keeps for the next burst.
    package var spareBytes = 32 << 20
    /// Free pages given back in one step.
    package var givenBackBytes = 4 << 20
    /// Empty streams that keep their pack id prefix, in case more of their logs arrive.
    package var idleStreams = 4096
    /// The total cost of idle streams. Most have a few hundred bytes of tags, some have tens of
    /// KiB.
    package var idleStreamBytes = 4 << 20
    /// First pause after a failed write. Doubles up to `retryMax`.
    package var retryMin: Duration = .milliseconds(250)
    package var retryMax: Duration = .seconds(5)
    /// The pause before the owner tries again to open or read a damaged database.
    package var asideRetry: Duration = .seconds(60)
    /// A commit log gets another base when commits since the last one exceed this and the size of
    /// the database.
    package var baseLogBytes = 256 << 20
    /// A bound for the directory's files, as if the disk had no more space. Nil is the real disk.
    package var diskBytes: Int?

    package init() {}
}

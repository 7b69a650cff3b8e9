import Logs
import Queue
import Synchronization
import System

/// Makes rows of a stream's batches: joins small ones, and splits those too large for one row.
///
/// Rows that reach 64 KiB compress as well as whole packets do, and a packet ends between rows.
struct RowPacker {
    let rawBytesMax: Int
    let logsMax: Int

    /// Compresses a batch that fills most of a row, on the thread that appends it: while one commit
    /// syncs, others compress for the next. Nothing for smaller batches, which share a row.
    func compressAlone(_ batch: EncodedLogs) -> [PackedRow] {
        guard fillsRow(batch) else { return [] }
        return pieces(of: batch).map { PackedRow($0) }
    }

    func fillsRow(_ batch: EncodedLogs) -> Bool { batch.bytes.count > rawBytesMax / 2 }

    /// Adds the rows of the batches, in order. A log larger than a row gets one of its own.
    func plan(_ batches: [StagedBatches.Staged], to rows: inout [PlannedRow]) {
        var index = 0
        while index < batches.count {
            let first = batches[index]
            if isUsable(first.rows) {
                rows += first.rows.map { .packed($0) }
                index += 1
                continue
            }
            var end = index + 1
            var bytes = first.logs.bytes.count
            var logs = first.logs.count
            while end < batches.count, batches[end].rows.isEmpty,
                bytes + batches[end].logs.bytes.count <= rawBytesMax,
                logs + batches[end].logs.count <= logsMax
            {
                bytes += batches[end].logs.bytes.count
                logs += batches[end].logs.count
                end += 1
            }
            if end > index + 1 {
                rows.append(.joined(batches[index..<end], logs: logs))
            } else {
                rows += pieces(of: first.logs).map { .whole($0) }
            }
            index = end
        }
    }

    /// The destination may allow less than the queue's rows have.
    private func isUsable(_ rows: [PackedRow]) -> Bool {
        !rows.isEmpty
            && rows.allSatisfy { row in
                row.logs == 1 || row.block.rawBytes <= rawBytesMax && row.logs <= logsMax
            }
    }

    private func pieces(of batch: EncodedLogs) -> [EncodedLogs] {
        // If entries cannot be separated, our encoding is wrong. Their bytes are kept all the same.
        (try? batch.pieces(atMost: rawBytesMax, logs: logsMax)) ?? [batch]
    }
}

enum PlannedRow: Sendable {
    case packed(PackedRow)
    case whole(EncodedLogs)
    case joined(ArraySlice<StagedBatches.Staged>, logs: Int)

    var isPacked: Bool { if case .packed = self { true } else { false } }

    /// The row, compressed. `scratch` is the buffer in which batches are joined.
    func packed(joining scratch: inout [UInt8]) -> PackedRow {
        switch self {
        case .packed(let row): return row
        case .whole(let logs): return PackedRow(logs)
        case .joined(let batches, let logs):
            scratch.removeAll(keepingCapacity: true)
            for batch in batches { scratch.append(contentsOf: batch.logs.bytes) }
            return PackedRow(scratch, logs: logs)
        }
    }
}

extension PackedRow {
    fileprivate init(_ logs: EncodedLogs) { self.init(logs.bytes, logs: logs.count) }

    fileprivate init(_ bytes: [UInt8], logs: Int) {
        self.init(
            block: StoredBlock(
                compressed: LZ4.compress(bytes),
                rawBytes: bytes.count,
                isOwn: true
            ),
            logs: logs
        )
    }
}

/// Compresses the rows of a commit. A large commit has a second thread for it: with 32 clients,
/// compressing was half of the owner's work while a fifth of two cores had nothing to do.
///
/// The rows are the same, whichever thread compresses them.
final class RowPress {
    /// With fewer rows the second thread would come too late.
    static let rowsMin = 4

    private let hasHelper: Bool
    /// Started by the first large commit.
    private var helper: Helper?
    private var scratch: [UInt8] = []
    /// Rows that the helper compressed, for tests.
    private(set) var helped = 0

    /// Without a helper where it would only take turns with the owner.
    init(hasHelper: Bool = coreCount > 1) {
        self.hasHelper = hasHelper
    }

    func compress(_ rows: [PlannedRow]) -> [PackedRow] {
        let work = rows.count { !$0.isPacked }
        guard work >= Self.rowsMin, let helper = startedHelper() else {
            return rows.map { $0.packed(joining: &scratch) }
        }
        let job = Job(rows)
        helper.begin(job)
        var packed = [PackedRow?](repeating: nil, count: rows.count)
        var left = rows.count
        while let index = job.takeNext() {
            packed[index] = rows[index].packed(joining: &scratch)
            left -= 1
        }
        helped += left
        for (index, row) in helper.finished(job, rows: left) { packed[index] = row }
        return packed.map { row in
            guard let row else { preconditionFailure("a row was compressed by neither thread") }
            return row
        }
    }

    /// nil: there is no thread to be had, so the owner works alone.
    private func startedHelper() -> Helper? {
        if helper == nil, hasHelper { helper = try? Helper() }
        return helper
    }
}

/// The rows of one commit, which two threads take one by one.
private final class Job: Sendable {
    let rows: [PlannedRow]
    private let next = Atomic(0)
    let packed = Locked<[(index: Int, row: PackedRow)]>([])

    init(_ rows: [PlannedRow]) {
        self.rows = rows
    }

    func takeNext() -> Int? {
        let index = next.add(1, ordering: .relaxed).oldValue
        return index < rows.count ? index : nil
    }
}

/// The second thread. It ends with the last reference.
private final class Helper {
    private enum Order {
        case none
        case work(Job)
        case end
    }

    private final class Post: Sendable {
        let order = Locked(Order.none)
        let begin: WakeUp
        let done: WakeUp

        init() throws(SystemError) {
            begin = try WakeUp()
            done = try WakeUp()
        }

        func give(_ new: Order) {
            order.withLock { $0 = new }
            begin.signal()
        }
    }

    private let post: Post
    private let worker: Worker

    init() throws(SystemError) {
        let post = try Post()
        self.post = post
        worker = try Worker("queue-press") { Self.run(post) }
    }

    deinit {
        post.give(.end)
        worker.join()
    }

    func begin(_ job: Job) { post.give(.work(job)) }

    /// Waits for the rows that the helper took.
    func finished(_ job: Job, rows count: Int) -> [(index: Int, row: PackedRow)] {
        while job.packed.withLock({ $0.count }) < count { post.done.wait() }
        return job.packed.withLock { $0 }
    }

    private static func run(_ post: Post) {
        var scratch: [UInt8] = []
        while true {
            let order = post.order.withLock { order in
                defer { if case .work = order { order = .none } }
                return order
            }
            switch order {
            case .none: post.begin.wait()
            case .end: return
            case .work(let job):
                var hasHelped = false
                while let index = job.takeNext() {
                    let row = job.rows[index].packed(joining: &scratch)
                    job.packed.withLock { $0.append((index, row)) }
                    hasHelped = true
                }
                // A helper that came too late has nothing to tell.
                if hasHelped { post.done.signal() }
            }
        }
    }
}

package import Configuration
import Glibc
package import HTTP
import Logs
import Queue
import Synchronization
package import System

/// Shows viewers the logs as they are accepted. Without viewers, which is the usual case, it costs
/// one atomic load per request. A slow viewer misses logs and is told how many.
package final class Tail: Sendable {
    package static let shares = AdminShares(16)
    /// Bytes of batches that wait for viewers. Batches beyond that are not shown.
    static let waitingBytesMax = 4 << 20
    private static let heartbeat: Duration = .seconds(15)
    /// The thread lets batches gather so long. It would wake for each request otherwise, and take
    /// the processor from the loops that it watches.
    private static let rest: Duration = .milliseconds(20)

    private let isLooking = Atomic<Bool>(false)
    private let waitingBytes = Atomic<Int>(0)
    private let watchers = Locked<[TailWatcher]>([])
    private let inbox: Mailbox<Batch>
    private let wake: WakeUp
    private let isStopping = Atomic<Bool>(false)
    private let worker = Locked<Worker?>(nil)

    package init() throws(SystemError) {
        let wake = try WakeUp()
        self.wake = wake
        inbox = Mailbox { wake.signal() }
    }

    package func start() throws(SystemError) {
        let worker = try Worker("tail") { [self] in run() }
        self.worker.withLock { $0 = worker }
    }

    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        watchers.withLock { $0 = [] }
    }

    /// True while there are viewers. Read for each request.
    var isWatched: Bool { isLooking.load(ordering: .relaxed) }

    /// Shows a stored batch.
    func show(_ batch: Batch) {
        let bytes = Self.weight(batch)
        let waiting = waitingBytes.add(bytes, ordering: .relaxed).newValue
        // A batch that waits alone may be larger.
        guard waiting <= Self.waitingBytesMax || waiting == bytes else {
            waitingBytes.subtract(bytes, ordering: .relaxed)
            watchers.withLock { watchers in
                for watcher in watchers { watcher.passOver(batch) }
            }
            return
        }
        inbox.post(batch)
    }

    /// The memory of a waiting batch. The constant stands for tags and for its place in the list.
    private static func weight(_ batch: Batch) -> Int {
        batch.logs.bytes.count + batch.stream.trailer.bytes.count + 256
    }

    /// Closes the streams of holders who may not look any more.
    package func keep(_ maySee: (AdminHolder) -> Bool) { close { !maySee($0.holder) } }

    /// Closes the streams of sessions that are over.
    package func closeOver() { close { $0.isOver() } }

    private func close(_ mustGo: (TailWatcher) -> Bool) {
        watchers.withLock { watchers in
            for watcher in watchers where mustGo(watcher) { watcher.close() }
        }
        wake.signal()
    }

    /// False when there are too many viewers already. `isOver` is asked at each heartbeat whether
    /// the viewer has to go.
    package func add(
        _ holder: AdminHolder,
        _ filter: TailFilter,
        isOver: @escaping @Sendable () -> Bool = { false },
        _ open: () -> ResponseStream?
    ) -> Bool {
        // The thread must start its heartbeats for the first viewer.
        defer { wake.signal() }
        return watchers.withLock { watchers in
            watchers.removeAll { !$0.isOpen }
            guard Self.shares.hasRoom(for: holder, beside: watchers.map(\.holder)) else {
                return false
            }
            if let stream = open() {
                watchers.append(TailWatcher(holder, filter, stream, isOver: isOver))
            }
            isLooking.store(!watchers.isEmpty, ordering: .relaxed)
            return true
        }
    }

    private func run() {
        var nextBeat = Moment.now + Self.heartbeat
        var next = nextBeat
        while !isStopping.load(ordering: .acquiring) {
            wake.wait(timeout: isWatched ? max(.zero, next - .now) : .seconds(60))
            let batches = inbox.takeAll()
            let now = Moment.now
            let isBeat = now >= nextBeat
            if isBeat { nextBeat = now + Self.heartbeat }
            let present = watchers.withLock { $0 }
            for watcher in present {
                for batch in batches { watcher.show(batch, now) }
                watcher.report(now)
                if isBeat { watcher.beat() }
            }
            // A report that found no room stays due.
            next = max(now + Self.rest, present.compactMap(\.nextReport).reduce(nextBeat, min))
            for batch in batches {
                waitingBytes.subtract(Self.weight(batch), ordering: .relaxed)
            }
            watchers.withLock { watchers in
                watchers.removeAll { !$0.isOpen }
                isLooking.store(!watchers.isEmpty, ordering: .relaxed)
            }
            if !batches.isEmpty { usleep(useconds_t(Self.rest / .microseconds(1))) }
        }
    }
}

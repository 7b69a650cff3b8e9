package import Configuration
import Glibc
package import HTTP
package import JSON
package import Logs
package import Queue
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

/// A viewer, who gets server-sent events, one for each log. Only the tail's thread uses it.
final class TailWatcher: Sendable {
    /// The holder of the token that opened it.
    let holder: AdminHolder
    private let filter: TailFilter
    private let stream: ResponseStream
    /// Asked at each heartbeat: the session that opened the stream is over.
    let isOver: @Sendable () -> Bool
    /// nil: the viewer gets all logs that match.
    private let sampler: Locked<TailSampler>?
    /// Logs that found no room on the way to the viewer, and whose number was not sent yet.
    private let missed = Atomic<Int>(0)

    init(
        _ holder: AdminHolder,
        _ filter: TailFilter,
        _ stream: ResponseStream,
        isOver: @escaping @Sendable () -> Bool
    ) {
        self.holder = holder
        self.filter = filter
        self.stream = stream
        self.isOver = isOver
        sampler = filter.rate.map { Locked(TailSampler(rate: $0, now: .now)) }
    }

    var isOpen: Bool { stream.isOpen }

    func close() { stream.finish() }

    /// Counts a batch that found no room. Its logs are not compared with the filter.
    func passOver(_ batch: Batch) {
        if filter.admits(batch.stream) { miss(batch.logs.count) }
    }

    private func miss(_ count: Int) {
        missed.add(count, ordering: .relaxed)
    }

    func show(_ batch: Batch, _ now: Moment) {
        guard isOpen, filter.admits(batch.stream) else { return }
        // Chosen by their number where that is enough: the others are not even read.
        var chosen = filter.looksIntoLogs ? nil : choose(batch.logs.count, now)?[...]
        batch.logs.bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var place = 0
            while chosen?.isEmpty != true, let range = try? entries.next() {
                defer { place += 1 }
                if let next = chosen?.first {
                    guard next == place else { continue }
                    chosen?.removeFirst()
                }
                let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard let entry = try? LogEntry(log), filter.admits(entry) else { continue }
                if filter.looksIntoLogs, choose(1, now)?.isEmpty == true { continue }
                write(TailEvent.bytes(entry, size: range.count, of: batch.stream))
            }
        }
    }

    /// nil: the viewer gets all.
    private func choose(_ count: Int, _ now: Moment) -> [Int]? {
        sampler?.withLock { $0.choose(count, now) }
    }

    private func write(_ event: [UInt8]) {
        let late = missed.exchange(0, ordering: .relaxed)
        if late > 0, !stream.write(Array("event: missed\ndata: {\"logs\":\(late)}\n\n".utf8)) {
            return miss(late + 1)
        }
        if !stream.write(event) { miss(1) }
    }

    /// When `report` has something to tell; nil: nothing was left out.
    var nextReport: Moment? { sampler?.withLock { $0.nextReport } }

    /// Tells a viewer with a rate what was left out, about once a second.
    func report(_ now: Moment) {
        guard let sampler, let report = sampler.withLock({ $0.report(now) }) else { return }
        let milliseconds = Int(report.time / .milliseconds(1))
        let isTold = stream.write(
            Array(
                ("event: sampled\ndata: {\"matched\":\(report.matched),\"shown\":\(report.shown),"
                    + "\"milliseconds\":\(milliseconds)}\n\n").utf8
            )
        )
        if isTold { sampler.withLock { $0.startPeriod(now) } }
    }

    /// Keeps middleboxes from closing a quiet connection, and detects a viewer that is gone.
    func beat() {
        guard !isOver() else { return close() }
        _ = stream.write(Array(": still here\n\n".utf8))
    }
}

extension JSONWriter {
    /// Writes the members of a log as a device would send them.
    package mutating func log(_ entry: LogEntry) {
        let nanoseconds = "\(1_000_000_000 + Int(entry.time.nanoseconds))".dropFirst()
        let fraction = entry.time.nanoseconds > 0 ? ".\(nanoseconds)" : ""
        member("__time__", "\(entry.time.seconds)\(fraction)")
        for (key, value) in entry.fields { member(key, value) }
    }

    /// Writes the members that name a stream, without known secrets.
    package mutating func stream(_ key: StreamKey) {
        // A long label was cut before it was stored, perhaps within a secret.
        let shown = { (label: String) in Mask.hidingKnownSecrets(in: label, isCut: true) }
        member("destination", key.destination)
        member("logstore", shown(key.logstore))
        member("topic", shown(key.trailer.topic))
        member("source", shown(key.trailer.source))
        object("tags") { json in
            for (key, value) in key.trailer.tags { json.member(shown(key), shown(value)) }
        }
    }
}

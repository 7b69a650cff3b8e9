import Configuration
import HTTP
package import JSON
package import Logs
package import Queue
import Synchronization
import System

/// A viewer, who gets server-sent events, one for each log. Only the tail's thread uses it.
final class TailWatcher: Sendable {
    /// The holder of the token that opened it.
    let holder: AdminHolder
    private let filter: TailFilter
    private let stream: ResponseStream
    /// Whether the session that opened it is over; asked at each heartbeat.
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

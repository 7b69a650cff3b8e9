import Configuration
import HTTP
import JSON
import Logs
import Queue
import Synchronization

/// Somebody who looks: server-sent events, one a log. Used by the tail's thread alone.
final class TailWatcher: Sendable {
    /// Whose token it was opened with.
    let holder: AdminHolder
    private let filter: TailFilter
    private let stream: ResponseStream
    /// Logs that found no room on the way to the reader and were not told yet.
    private let missed = Atomic<Int>(0)

    init(_ holder: AdminHolder, _ filter: TailFilter, _ stream: ResponseStream) {
        self.holder = holder
        self.filter = filter
        self.stream = stream
    }

    var isOpen: Bool { stream.isOpen }

    func close() { stream.finish() }

    /// A batch found no room on the way here. Which of its logs were wanted is not looked at.
    func passOver(_ batch: Batch) {
        if filter.admits(batch.stream) { miss(batch.logs.count) }
    }

    private func miss(_ count: Int) {
        missed.add(count, ordering: .relaxed)
    }

    func show(_ batch: Batch) {
        guard isOpen, filter.admits(batch.stream) else { return }
        batch.logs.bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            while let range = try? entries.next() {
                let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard let entry = try? LogEntry(log), filter.admits(entry) else { continue }
                show(entry, of: batch.stream)
            }
        }
    }

    private func show(_ entry: LogEntry, of key: StreamKey) {
        let late = missed.exchange(0, ordering: .relaxed)
        if late > 0, !stream.write(Array("event: missed\ndata: {\"logs\":\(late)}\n\n".utf8)) {
            return miss(late + 1)
        }
        var json = JSONWriter()
        json.object { json in
            json.member("destination", key.destination)
            json.member("logstore", key.logstore)
            json.member("topic", key.trailer.topic)
            json.member("source", key.trailer.source)
            json.object("tags") { json in
                for tag in key.trailer.tags { json.member(tag.key, tag.value) }
            }
            json.object("log") { $0.log(entry) }
        }
        // No line break is in a JSON text of ours, so it is one line of an event.
        if !stream.write(Array("data: \(json.text)\n\n".utf8)) { miss(1) }
    }

    /// Keeps middleboxes from closing a quiet connection, and notices a reader that is gone.
    func beat() {
        _ = stream.write(Array(": still here\n\n".utf8))
    }
}

import Glibc

/// Lines on their way to a descriptor: a bounded buffer and one thread that empties it.
///
/// Whoever reads the other end may be slow or stuck for good, and a full pipe blocks its writer. So
/// only this thread writes; everybody else leaves lines in the buffer and goes on. What finds it full
/// is dropped, and counted in a line of its own that stands in the place of what is missing.
package final class JournalWriter: Sendable {
    private let lines: Lines

    /// The descriptor is borrowed and must outlive what was appended. `missing` makes the line that
    /// says how many others were dropped.
    package init(
        descriptor: CInt,
        bytesMax: Int = 1 << 20,
        missing: @escaping @Sendable (_ count: Int) -> [UInt8]
    ) throws(SystemError) {
        let lines = try Lines(bytesMax: bytesMax, missing: missing)
        self.lines = lines
        // It may hang in its last write, so nobody joins it.
        _ = try Worker("journal") {
            pthread_detach(pthread_self())
            while let batch = lines.next() {
                write(batch, to: descriptor)
                lines.batchIsOut()
            }
        }
    }

    deinit { lines.end() }

    /// Never waits.
    package func append(_ line: [UInt8]) {
        lines.append(line)
    }

    /// Waits until what was appended before is written, but no longer than this.
    package func flush(within time: Duration) {
        lines.flush(by: .now + time)
    }
}

/// All bytes, or none of the rest if the descriptor takes no more at all.
private func write(_ bytes: [UInt8], to descriptor: CInt) {
    bytes.withUnsafeBytes { bytes in
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(
                descriptor,
                bytes.baseAddress.map { $0 + written },
                bytes.count - written
            )
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                // Somebody who shares the descriptor made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}

/// What the appending threads and the writing one share.
private final class Lines: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var dropped = 0
        /// Counts batches: the one being filled has the next number.
        var batch = 1
        var batchesOut = 0
        var isEnding = false
    }

    private let bytesMax: Int
    private let missing: @Sendable (Int) -> [UInt8]
    private let state = Locked(State())
    private let filled: WakeUp
    private let emptied: WakeUp

    init(bytesMax: Int, missing: @escaping @Sendable (Int) -> [UInt8]) throws(SystemError) {
        self.bytesMax = bytesMax
        self.missing = missing
        filled = try WakeUp()
        emptied = try WakeUp()
    }

    func append(_ line: [UInt8]) {
        let wasEmpty = state.withLock { state in
            // The buffer is full until it is taken: otherwise a short line would overtake the count.
            guard state.dropped == 0, state.buffer.count + line.count <= bytesMax else {
                state.dropped += 1
                return false
            }
            defer { state.buffer += line }
            return state.buffer.isEmpty
        }
        if wasEmpty { filled.signal() }
    }

    func end() {
        state.withLock { $0.isEnding = true }
        filled.signal()
    }

    /// Waits for the next batch; nil when no more will come.
    func next() -> [UInt8]? {
        while true {
            let (batch, dropped, isEnding) = state.withLock { state in
                let taken = (state.buffer, state.dropped, state.isEnding)
                state.buffer = []
                state.dropped = 0
                if !taken.0.isEmpty || taken.1 > 0 { state.batch += 1 }
                return taken
            }
            if dropped > 0 { return batch + missing(dropped) }
            if !batch.isEmpty { return batch }
            if isEnding { return nil }
            filled.wait()
        }
    }

    func batchIsOut() {
        state.withLock { $0.batchesOut = $0.batch - 1 }
        emptied.signal()
    }

    func flush(by deadline: Moment) {
        let last = state.withLock { state in
            state.buffer.isEmpty && state.dropped == 0 ? state.batch - 1 : state.batch
        }
        while state.withLock({ $0.batchesOut }) < last {
            let left = deadline - .now
            guard left > .zero else { return }
            // Two who flush at the same time share the signal: neither sleeps long without looking.
            emptied.wait(timeout: min(left, .milliseconds(50)))
        }
    }
}

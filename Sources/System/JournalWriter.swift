import Glibc

/// A bounded buffer of lines and one thread that writes them to a descriptor.
///
/// The reader of the other end may be slow or stuck, and a full pipe blocks its writer. So only
/// this thread writes; all other threads append to the buffer and continue. When the buffer is
/// full, lines are dropped, and one line in their place tells how many.
package final class JournalWriter: Sendable {
    private let lines: Lines

    /// The descriptor is borrowed and outlives all lines. `missing` reports dropped ones.
    package init(
        descriptor: CInt,
        bytesMax: Int = 1 << 20,
        missing: @escaping @Sendable (_ count: Int) -> [UInt8]
    ) throws(SystemError) {
        let lines = try Lines(bytesMax: bytesMax, missing: missing)
        self.lines = lines
        // The thread may hang in its last write, so it is detached and never joined.
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

    /// Waits until earlier lines are written, at most this long.
    package func flush(within time: Duration) {
        lines.flush(by: .now + time)
    }
}

/// Writes all bytes; gives up when the descriptor fails.
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
                // Another process that shares the descriptor made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}

/// State shared by the appending threads and the writing thread.
private final class Lines: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var dropped = 0
        /// The number of the batch that is being filled.
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
            // After a drop, the buffer counts as full until it is taken: a short line must not
            // overtake the count.
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

    /// Waits for the next batch; nil after the last one.
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
            // Threads that flush at once share the signal, so each looks again after 50 ms at most.
            emptied.wait(timeout: min(left, .milliseconds(50)))
        }
    }
}

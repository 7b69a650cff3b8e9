import Net
import Synchronization
import System

/// The writer's end of a streamed answer; see `Responder.stream`.
///
/// Safe on any thread; no call waits. If the last reference goes without `finish`, or the server
/// stops, the connection ends so that an HTTP/1.1 client sees a truncated answer.
///
/// A quiet stream lives as long as its connection. Only the next writes detect a client that left
/// without a reset, so an idle writer should write something small now and then (a comment, a blank
/// line).
package final class ResponseStream: Sendable {
    let body: StreamedBody

    init(_ body: StreamedBody) {
        self.body = body
    }

    deinit { body.end(.cut) }

    /// False once the client has gone, the server stops, or the stream is finished. Costs one load.
    package var isOpen: Bool { body.isOpen }

    /// Appends all of the bytes or none. Returns false if the stream is closed, or if too many
    /// bytes are unsent; the writer then skips the bytes or ends.
    package func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { body.write($0) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        body.write(bytes)
    }

    /// Completes the answer. Bytes written before are still sent.
    package func finish() {
        body.end(.complete)
    }

    /// Calls the action once when the client has taken all that was written, or the stream has
    /// closed; at once if that is so already. It runs on the loop's thread, so it must be short.
    package func whenSent(_ action: @escaping @Sendable () -> Void) {
        body.whenSent(action)
    }

    /// Calls the action once when the stream closes, for any reason; at once if it is closed
    /// already. It runs on the loop's thread, so it must be short. A second action replaces the
    /// first.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        body.whenClosed(action)
    }
}

/// The body of a streamed answer: bytes that the writer gave and the loop has not sent.
///
/// Writers append on any thread; the loop takes all bytes when the connection has nothing else to
/// send. Unsent bytes are bounded, so a slow reader costs only that much memory and blocks no
/// thread.
final class StreamedBody: Sendable {
    enum End {
        case complete
        /// Ends without the last chunk, so that the client sees a truncated answer.
        case cut
    }

    private struct State {
        var waiting: [UInt8] = []
        /// Bytes that the loop has taken and the kernel has not accepted.
        var unsent = 0
        /// Bytes charged to the answer budget, in blocks, so that not every write needs the budget.
        var charged = 0
        var end: End?
        /// The loop knows that bytes are waiting.
        var isAnnounced = false
        var isClosed = false
        var whenClosed: (@Sendable () -> Void)?
        var whenSent: (@Sendable () -> Void)?
    }

    private let client: WaitingClient
    let isChunked: Bool
    private let unsentBytesMax: Int
    private let open = Atomic<Bool>(true)
    private let state = Locked(State())

    private static let chargedBlock = 16 << 10

    init(_ client: WaitingClient, isChunked: Bool, unsentBytesMax: Int) {
        self.client = client
        self.isChunked = isChunked
        self.unsentBytesMax = unsentBytesMax
    }

    /// True while the client may still read written bytes.
    var isOpen: Bool { open.load(ordering: .relaxed) }

    // MARK: - The writer's side, on any thread

    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard isOpen else { return false }
        // An empty chunk would end the body.
        guard !bytes.isEmpty else { return true }
        let mustAnnounce: Bool? = state.withLock { state in
            guard state.end == nil,
                bytes.count <= unsentBytesMax - state.waiting.count - state.unsent,
                charge(state.waiting.count + state.unsent + bytes.count, &state)
            else { return nil }
            if isChunked { state.waiting.append(chunkSize: bytes.count) }
            state.waiting.append(contentsOf: bytes)
            if isChunked { state.waiting.append(contentsOf: "\r\n".utf8) }
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
        if mustAnnounce == true { announce() }
        return mustAnnounce != nil
    }

    func end(_ end: End) {
        open.store(false, ordering: .relaxed)
        let mustAnnounce = state.withLock { state in
            guard state.end == nil else { return false }
            state.end = end
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
        if mustAnnounce { announce() }
    }

    private func announce() { client.port.post(.more(client.connection)) }

    /// Returns false without room for so many bytes.
    private func charge(_ bytes: Int, _ state: inout State) -> Bool {
        guard bytes > state.charged else { return true }
        let missing =
            (bytes - state.charged + Self.chargedBlock - 1) / Self.chargedBlock * Self.chargedBlock
        let budget = client.port.budgets.answers
        guard budget.take(missing, for: client.neighbourhood, largest: 0) else { return false }
        state.charged += missing
        return true
    }

    private func giveBack(_ state: inout State) {
        client.port.budgets.answers.giveBack(state.charged, of: client.neighbourhood)
        state.charged = 0
    }

    func whenClosed(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.whenClosed = action }
            return state.isClosed
        }
        if isClosed { action() }
    }

    func whenSent(_ action: @escaping @Sendable () -> Void) {
        let isSent = state.withLock { state in
            let isSent = state.isClosed || state.waiting.isEmpty && state.unsent == 0
            if !isSent { state.whenSent = action }
            return isSent
        }
        if isSent { action() }
    }

    // MARK: - The loop's side

    /// Moves the waiting bytes to `bytes`. Returns the end when no bytes follow.
    func take(into bytes: inout [UInt8]) -> End? {
        let (taken, end) = state.withLock { state in
            let taken = state.waiting
            state.waiting = []
            state.unsent = taken.count
            state.isAnnounced = false
            return (taken, state.end)
        }
        bytes += taken
        if end == .complete, isChunked { bytes.append(contentsOf: "0\r\n\r\n".utf8) }
        return end
    }

    /// Sets how many of the taken bytes are still unsent.
    func setUnsent(_ count: Int) {
        let action = state.withLock { state in
            state.unsent = count
            guard state.waiting.isEmpty, count == 0 else { return nil as (@Sendable () -> Void)? }
            giveBack(&state)
            return state.whenSent.take()
        }
        action?()
    }

    /// Closes the stream: all is sent, the client has gone, or the server stops.
    func close() {
        open.store(false, ordering: .relaxed)
        let actions = state.withLock { state in
            state.end = state.end ?? .cut
            state.isClosed = true
            state.waiting = []
            giveBack(&state)
            return [state.whenSent.take(), state.whenClosed.take()]
        }
        for action in actions { action?() }
    }
}

extension [UInt8] {
    fileprivate mutating func append(chunkSize count: Int) {
        append(contentsOf: String(count, radix: 16).utf8)
        append(contentsOf: "\r\n".utf8)
    }
}

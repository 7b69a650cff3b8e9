package import System

/// Where answers to messages of one caller arrive. Its end forgets what comes later.
package final class NATSInbox: Sendable {
    /// What one inbox may hold.
    private static let bytesMax = 32 << 20

    private struct State {
        /// Newest last.
        var arrived: [NATSMessage] = []
        /// Newest first: the oldest is taken from the end.
        var leaving: [NATSMessage] = []
        var bytes = 0
        var failure: NATSError?
        /// Where its messages went, for a refusal that names only the subject.
        var subjects: Set<String> = []
    }

    private let state = Locked(State())
    private let wake: WakeUp
    private let whenOver: @Sendable () -> Void
    /// Answers go to this subject, or to one below it.
    package let subject: String

    init(_ subject: String, whenOver: @escaping @Sendable () -> Void) throws(SystemError) {
        self.subject = subject
        self.whenOver = whenOver
        wake = try WakeUp()
    }

    deinit { whenOver() }

    /// The next message. Throws at the deadline, or when the connection is lost.
    package func next(until deadline: Moment) throws(NATSError) -> NATSMessage {
        while true {
            let (message, failure) = state.withLock { state -> (NATSMessage?, NATSError?) in
                if state.leaving.isEmpty {
                    state.leaving = state.arrived.reversed()
                    state.arrived = []
                }
                guard let message = state.leaving.popLast() else { return (nil, state.failure) }
                state.bytes -= message.memory
                return (message, nil)
            }
            if let message { return message }
            if let failure { throw failure }
            let left = deadline - .now
            guard left > .zero else {
                throw NATSError(.timeout, "the server did not answer in time")
            }
            wake.wait(timeout: left)
        }
    }

    func add(_ message: NATSMessage) {
        state.withLock { state in
            guard state.bytes + message.memory <= Self.bytesMax else {
                let text = "more than \(Self.bytesMax) bytes came as answers to one request"
                state.failure = state.failure ?? NATSError(.malformed, text)
                return
            }
            state.arrived.append(message)
            state.bytes += message.memory
        }
        wake.signal()
    }

    func fail(_ error: NATSError) {
        state.withLock { $0.failure = $0.failure ?? error }
        wake.signal()
    }

    /// Makes `next` throw, now and later.
    package func end() { fail(NATSError(.disconnected, "the inbox has ended")) }

    func sends(to subject: String) { state.withLock { _ = $0.subjects.insert(subject) } }

    /// True if the messages or the answers of this inbox go to the subject.
    func uses(_ other: String) -> Bool {
        other == subject || other.hasPrefix("\(subject).")
            || state.withLock { $0.subjects.contains(other) }
    }
}

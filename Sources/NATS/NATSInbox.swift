package import System

/// Where answers to messages of one caller arrive. Its end forgets what comes later.
package final class NATSInbox: Sendable {
    /// What one inbox may hold.
    private static let bytesMax = 32 << 20

    private struct State {
        var messages: [NATSMessage] = []
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
                guard !state.messages.isEmpty else { return (nil, state.failure) }
                let message = state.messages.removeFirst()
                state.bytes -= message.body.count
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
            guard state.bytes + message.body.count <= Self.bytesMax else {
                let text = "more than \(Self.bytesMax) bytes came as answers to one request"
                state.failure = NATSError(.malformed, text)
                return
            }
            state.messages.append(message)
            state.bytes += message.body.count
        }
        wake.signal()
    }

    func fail(_ error: NATSError) {
        state.withLock { $0.failure = $0.failure ?? error }
        wake.signal()
    }

    func sends(to subject: String) { state.withLock { _ = $0.subjects.insert(subject) } }

    func hasSent(to subject: String) -> Bool { state.withLock { $0.subjects.contains(subject) } }
}

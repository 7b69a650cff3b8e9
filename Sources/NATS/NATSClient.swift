package import System

/// A client of a NATS cluster with one connection, on its own thread, which reconnects.
///
/// Nothing waits for a connection: without one, calls fail at once, and their callers decide
/// whether to try again.
package final class NATSClient: Sendable {
    package enum State: Equatable, Sendable {
        /// Since the moment, and why the last attempt failed; nil: there was none yet.
        case disconnected(since: Moment, NATSError?)
        case connected(NATSServerAddress, ServerInfo)
    }

    private let core: ClientCore
    private let worker: Locked<Worker?>

    /// Starts at once.
    package init(_ settings: NATSSettings, journal: Journal) throws(SystemError) {
        let core = try ClientCore(inboxPrefix: settings.inboxPrefix)
        self.core = core
        worker = Locked(
            try Worker("nats") { ClientLoop(settings, core, journal).run() }
        )
    }

    deinit { close() }

    package var state: State { core.state }

    /// Ends the connection and its thread. Later calls fail.
    package func close() {
        guard let worker = worker.withLock({ $0.take() }) else { return }
        core.stop()
        worker.join()
    }

    /// Leaves the server for another one, if there are several.
    package func changeServer() { core.changeServer() }

    /// Waits for a connection. Throws at the deadline, or when the servers refuse this client.
    package func waitUntilConnected(atMost time: Duration) throws(NATSError) {
        let deadline = Moment.now + time
        while true {
            guard case .disconnected(_, let error) = state else { return }
            if let error, error.kind == .refused { throw error }
            guard Moment.now < deadline else {
                throw error ?? .disconnected("no server answered in time")
            }
            core.waitForChange(atMost: min(deadline - .now, .milliseconds(200)))
        }
    }

    /// A place for answers. With a subscription of its own it also takes messages that keep the
    /// subject to which they were published, as those of a stream do.
    package func inbox(subscribes: Bool = false) throws(NATSError) -> NATSInbox {
        try core.inbox(subscribes)
    }

    /// A place for what others publish to these subjects, until the connection is lost.
    package func inbox(listeningTo subjects: [String]) throws(NATSError) -> NATSInbox {
        try core.inbox(listeningTo: subjects)
    }

    /// Sends a message; answers come to the inbox.
    package func send(_ message: OutgoingMessage, from inbox: NATSInbox) throws(NATSError) {
        // The server would end the connection, for all who use it.
        if case .connected(_, let info) = state, message.payloadBytes > info.payloadMax {
            throw .refused(
                "the message has \(message.payloadBytes) bytes, and the server takes "
                    + "\(info.payloadMax); raise its max_payload"
            )
        }
        inbox.sends(to: message.subject)
        try core.send(message.bytes)
    }

    /// Sends a message and waits for one answer.
    package func request(
        _ subject: String,
        headers: [(name: String, value: String)] = [],
        _ body: [UInt8] = [],
        timeout: Duration
    ) throws(NATSError) -> NATSMessage {
        let inbox = try inbox()
        let message = OutgoingMessage(
            to: subject,
            reply: inbox.subject,
            headers: headers,
            body: body
        )
        try send(message, from: inbox)
        let answer = try inbox.next(until: .now + timeout)
        guard answer.status != 503 else {
            throw .noResponders("nothing listens to \(subject) at this moment")
        }
        return answer
    }
}

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
                throw .timeout("the server did not answer in time")
            }
            wake.wait(timeout: left)
        }
    }

    func add(_ message: NATSMessage) {
        state.withLock { state in
            guard state.bytes + message.memory <= Self.bytesMax else {
                let text = "more than \(Self.bytesMax) bytes came as answers to one request"
                state.failure = state.failure ?? .malformed(text)
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
    package func end() { fail(NATSError.disconnected("the inbox has ended")) }

    func sends(to subject: String) { state.withLock { _ = $0.subjects.insert(subject) } }

    /// True if the messages or the answers of this inbox go to the subject.
    func uses(_ other: String) -> Bool {
        other == subject || other.hasPrefix("\(subject).")
            || state.withLock { $0.subjects.contains(other) }
    }
}

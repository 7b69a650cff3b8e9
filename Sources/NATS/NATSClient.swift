package import System

/// A client of a NATS cluster: one connection at a time, on a thread of its own, which it makes
/// again when it is lost.
///
/// Nothing waits for a connection: while there is none, and when one is lost, calls fail at once,
/// and their callers decide whether to try again.
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

    /// Waits for a connection. Throws why there is none at the deadline, or as soon as the servers
    /// refuse this client.
    package func waitUntilConnected(atMost time: Duration) throws(NATSError) {
        let deadline = Moment.now + time
        while true {
            guard case .disconnected(_, let error) = state else { return }
            if let error, error.kind == .refused { throw error }
            guard Moment.now < deadline else {
                throw error ?? NATSError(.disconnected, "no server answered in time")
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
            throw NATSError(
                .refused,
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
            throw NATSError(.noResponders, "nothing listens to \(subject) at this moment")
        }
        return answer
    }
}

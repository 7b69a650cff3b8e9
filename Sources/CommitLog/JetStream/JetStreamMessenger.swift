import NATS
import System

/// Messages between gateways as plain messages of NATS, which no server stores.
final class JetStreamMessenger: ClusterMessenger {
    /// A quarter of the servers' default `max_payload`.
    let partBytesMax = 256 << 10
    private static let listenAgain = Duration.milliseconds(250)
    /// A right that is missing does not come by itself.
    private static let listenAgainRefused = Duration.seconds(15)
    private static let lookEvery = Duration.seconds(10)

    private let client: NATSClient
    private let cluster: String
    private let node: String
    private let journal: Journal
    private let thread: ListeningThread
    private let inbox = Locked<NATSInbox?>(nil)
    private let state = Locked<String?>(nil)

    init(
        _ client: NATSClient,
        cluster: String,
        node: String,
        _ journal: Journal
    ) throws(CommitLogError) {
        self.client = client
        self.cluster = cluster
        self.node = node
        self.journal = journal
        thread = try ListeningThread()
    }

    private func subject(of node: String?) -> String {
        let place = "sluice.\(cluster).message"
        return node.map { "\(place).node.\($0)" } ?? "\(place).all"
    }

    var problem: String? { state.withLock(\.self) }

    func send(_ parts: [[UInt8]], to node: String?) throws(CommitLogError) {
        do throws(NATSError) {
            // Refusals come to the inbox that sent it.
            guard let inbox = inbox.withLock(\.self) else {
                throw .disconnected("this gateway does not listen to the others yet")
            }
            for part in parts {
                try client.send(OutgoingMessage(to: subject(of: node), body: part), from: inbox)
            }
        } catch {
            throw .unreachable(error.description)
        }
    }

    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) throws(CommitLogError) {
        try thread.start { [self] in run(receiver) }
    }

    func stop() { thread.stop { inbox.withLock(\.self)?.end() } }

    private func run(_ receiver: @Sendable ([UInt8]) -> Void) {
        while !thread.hasEnded {
            do throws(NATSError) {
                try client.waitUntilConnected(atMost: Self.listenAgain)
                let subjects = [subject(of: nil), subject(of: node)]
                let new = try client.inbox(listeningTo: subjects)
                inbox.withLock { $0 = new }
                try receive(from: new, receiver)
            } catch {
                inbox.withLock { $0 = nil }
                guard !thread.hasEnded else { return }
                let isRefused = error.kind == .refused
                report(isRefused ? error : nil, error.description)
                thread.pause(isRefused ? Self.listenAgainRefused : Self.listenAgain)
            }
        }
    }

    private func receive(
        from inbox: NATSInbox,
        _ receiver: @Sendable ([UInt8]) -> Void
    ) throws(NATSError) {
        // A refusal of the subscription comes soon or never.
        var isHealthy = false
        while !thread.hasEnded {
            do throws(NATSError) {
                let wait = isHealthy ? Self.lookEvery : Self.listenAgain
                receiver(try inbox.next(until: .now + wait).body)
            } catch {
                guard error.kind == .timeout else { throw error }
            }
            if !isHealthy { state.withLock { $0 = nil } }
            isHealthy = true
        }
    }

    /// Only a refusal needs an operator; lost connections are reported by the client.
    private func report(_ refusal: NATSError?, _ reason: String) {
        let known = state.withLock { state in
            defer { state = reason }
            return state
        }
        guard let refusal, known != reason else { return }
        journal.warning(
            "gateways of the cluster cannot send each other messages; allow the user to publish and to subscribe to "
                + "sluice.\(cluster).message.>",
            ["reason": refusal.description]
        )
    }
}

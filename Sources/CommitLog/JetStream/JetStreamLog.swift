import JSON
package import NATS
import System

/// A shard's commit log in a stream of NATS JetStream. The fence is the stream's expected last sequence, which all
/// replicas check when they apply an append.
package final class JetStreamLog: CommitLog {
    /// Servers before it lose messages when their cluster changes, or confirm before they have synced.
    package static let minimumVersion = ServerVersion(2, 14, 0)
    /// Parts have 900 KiB and their headers.
    private static let payloadLeast = 1 << 20

    private let client: NATSClient
    private let api: JetStreamAPI
    private let stream: ShardStream
    private let state = Locked(State())

    private struct State: Sendable {
        /// The stream is there and configured as it must be.
        var isOpen = false
        /// The last entry that is known to be there.
        var last: UInt64 = 0
        var consumer: StreamConsumer?
    }

    /// `queueBytes` is what the queue keeps at most; `isSynced` demands servers that sync before they confirm.
    package convenience init(
        _ client: NATSClient,
        _ settings: JetStreamSettings,
        queueBytes: Int,
        isSynced: Bool
    ) {
        let bytesMax = ShardStream.bytesMax(forQueueOf: queueBytes)
        self.init(client, ShardStream(settings, bytesMax: bytesMax, isSynced: isSynced))
    }

    init(_ client: NATSClient, _ stream: ShardStream) {
        self.client = client
        self.stream = stream
        api = JetStreamAPI(client: client)
    }

    // MARK: - The stream

    /// Makes the stream unless it is there, and checks and corrects its configuration. Other calls do it too, if it was
    /// not done yet.
    package func open() throws(CommitLogError) {
        guard !state.withLock({ $0.isOpen }) else { return }
        try checkServer()
        switch try api.ask("STREAM.INFO.\(stream.name)") {
        case .success(let answer):
            guard let found = answer["config"] else {
                throw CommitLogError(.unreachable, "JetStream's answer has no configuration")
            }
            if let problem = stream.problem(of: found) { throw CommitLogError(.refused, problem) }
            if stream.isOutdated(found) { try configure("UPDATE") }
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.streamNotFound else {
                throw stream.problem(refusal)
            }
            try configure("CREATE")
        }
        state.withLock { $0.isOpen = true }
    }

    /// Finds out what `open` would do, without doing it. Returns what was found, for the operator.
    package func look() throws(CommitLogError) -> String {
        try checkServer()
        guard case .connected(let address, let info) = client.state else {
            throw CommitLogError(.unreachable, "the connection was lost")
        }
        let server = "\(address) has version \(info.version)"
        switch try api.ask("STREAM.INFO.\(stream.name)") {
        case .success(let answer):
            if let problem = answer["config"].flatMap({ stream.problem(of: $0) }) {
                throw CommitLogError(.refused, problem)
            }
            let messages = answer["state"]?["messages"]?.wholeNumber ?? 0
            return "\(server); the stream \(stream.name) has \(messages) entries"
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.streamNotFound else {
                throw stream.problem(refusal)
            }
        }
        // Only the servers know if they could have it.
        let trial = stream.trial
        if case .failure(let refusal) = try api.ask("STREAM.CREATE.\(trial.name)", trial.write) {
            throw stream.problem(refusal)
        }
        if case .failure(let refusal) = try api.ask("STREAM.DELETE.\(trial.name)") {
            throw CommitLogError(
                .refused,
                "the stream \(trial.name), made for this check, cannot be deleted: \(refusal.text); "
                    + "delete it with: nats stream rm \(trial.name)"
            )
        }
        return "\(server); the stream \(stream.name) is made at the first start"
    }

    private func checkServer() throws(CommitLogError) {
        switch client.state {
        case .disconnected(_, let error):
            let text = error?.description ?? "there is no connection to a server yet"
            throw CommitLogError(error?.kind == .refused ? .refused : .unreachable, text)
        case .connected(let address, let info):
            guard info.hasJetStream else {
                throw CommitLogError(
                    .refused,
                    "\(address) has no JetStream; add a jetstream block to its configuration"
                )
            }
            guard info.payloadMax >= Self.payloadLeast else {
                throw CommitLogError(
                    .refused,
                    "\(address) takes messages of \(info.payloadMax) bytes; set max_payload to 1MB or more"
                )
            }
        }
    }

    private func configure(_ verb: String) throws(CommitLogError) {
        let answer = try api.ask("STREAM.\(verb).\(stream.name)") { stream.write(&$0) }
        if case .failure(let refusal) = answer { throw stream.problem(refusal) }
    }

    /// The number of the last entry, as the stream's leader knows it.
    private func lastEntry() throws(CommitLogError) -> UInt64 {
        switch try api.ask("STREAM.INFO.\(stream.name)") {
        case .success(let answer):
            guard let last = answer["state"]?["last_seq"]?.wholeNumber, last >= 0 else {
                throw CommitLogError(.unreachable, "JetStream's answer has no last sequence")
            }
            return UInt64(last)
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.streamNotFound else {
                throw CommitLogError(refusal.kind, refusal.text)
            }
            throw CommitLogError(
                .damaged,
                "the stream \(stream.name) is gone; restore it from a backup (nats stream restore)"
            )
        }
    }

    // MARK: - Appending

    package func append(_ parts: [[UInt8]], after last: UInt64, id: AppendID) -> AppendAnswer {
        do throws(CommitLogError) {
            try open()
        } catch {
            return error.kind == .noRoom ? .noRoom("\(error)") : .unreachable("\(error)")
        }
        for (index, part) in parts.enumerated() {
            // One after the other: if a rival had appended meanwhile, a later part could land where its place now is.
            let number = last + UInt64(index) + 1
            let answer = append(
                part,
                as: number,
                "\(hex(id.writer)).\(id.epoch).\(id.commit).\(index)"
            )
            guard answer == .appended(number) else {
                guard case .unreachable(let text) = answer, index > 0 else { return answer }
                return .unknown(text)
            }
        }
        return .appended(last + UInt64(parts.count))
    }

    private func append(_ part: [UInt8], as number: UInt64, _ name: String) -> AppendAnswer {
        let inbox: NATSInbox
        do throws(NATSError) {
            inbox = try client.inbox()
            let message = OutgoingMessage(
                to: stream.subject,
                reply: inbox.subject,
                headers: [
                    ("Nats-Msg-Id", name),
                    ("Nats-Expected-Stream", stream.name),
                    ("Nats-Expected-Last-Sequence", "\(number - 1)"),
                ],
                body: part
            )
            try client.send(message, from: inbox)
        } catch {
            return .unreachable("\(error)")
        }
        do throws(NATSError) {
            let answer = try inbox.next(until: .now + JetStreamAPI.timeout)
            guard answer.status == nil else {
                return .unknown("the stream has no leader at this moment")
            }
            return meaning(of: try JetStreamAPI.document(answer), number)
        } catch {
            return .unknown("\(error)")
        }
    }

    private func meaning(of answer: JSONValue, _ number: UInt64) -> AppendAnswer {
        if let refusal = JetStreamAPI.Refusal(answer) {
            if JetStreamAPI.Refusal.wrongLastSequence.contains(refusal.code) { return .fenced }
            let text = "\(refusal.text) (\(refusal.code))"
            return refusal.kind == .noRoom ? .noRoom(text) : .unknown(text)
        }
        guard let found = answer["seq"]?.wholeNumber, found > 0 else {
            return .unknown("JetStream's answer has no sequence")
        }
        // A duplicate elsewhere is an earlier append, and something newer is there.
        return UInt64(found) == number ? .appended(number) : .fenced
    }

    private func hex(_ number: UInt64) -> String { String(number, radix: 16) }

    // MARK: - Reading

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        try open()
        var (last, consumer) = state.withLock { state in (state.last, state.consumer.take()) }
        if number > last { last = try lastEntry() }
        state.withLock { [last] in $0.last = last }
        guard number <= last else {
            consumer?.delete(api)
            return []
        }
        // A consumer pays for many entries.
        guard bytes > StreamConsumer.bytesLeast else {
            return try entry(from: number).map { [$0] } ?? []
        }
        if consumer?.next != number {
            consumer?.delete(api)
            consumer = try StreamConsumer(api, stream, from: number)
        }
        let entries = try consumer?.fetch(api, atMost: bytes, last: last) ?? []
        guard let first = entries.first else {
            throw CommitLogError(.unreachable, "JetStream does not deliver entry \(number) yet")
        }
        if first.number > number, let missing = try entry(from: number),
            missing.number < first.number
        {
            throw CommitLogError(.unreachable, "JetStream left entry \(missing.number) out")
        }
        state.withLock { [consumer] in $0.consumer = consumer }
        return entries
    }

    /// The first entry from this number on; nil: there is none.
    private func entry(from number: UInt64) throws(CommitLogError) -> NumberedEntry? {
        let answer = try api.ask("STREAM.MSG.GET.\(stream.name)") { json in
            json.member("seq", number)
            json.member("next_by_subj", stream.subject)
        }
        switch answer {
        case .success(let answer):
            guard let found = answer["message"]?["seq"]?.wholeNumber, found > 0,
                // An empty message has none.
                let bytes = base64Decoded(
                    Array((answer["message"]?["data"]?.text ?? "").utf8)[...],
                    .standard
                )
            else { throw CommitLogError(.unreachable, "JetStream's answer has no message") }
            return NumberedEntry(number: UInt64(found), bytes: bytes)
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.messageNotFound else {
                throw CommitLogError(refusal.kind, refusal.text)
            }
            return nil
        }
    }

    package func trim(before number: UInt64) throws(CommitLogError) {
        try open()
        let answer = try api.ask("STREAM.PURGE.\(stream.name)") { $0.member("seq", number) }
        if case .failure(let refusal) = answer {
            throw CommitLogError(refusal.kind, refusal.text)
        }
    }
}

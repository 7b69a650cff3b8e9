import JSON
package import NATS
package import System

/// A shard's commit log in a stream of NATS JetStream. The fence is the stream's expected last
/// sequence. Only the stream's leader checks it, against all that it has proposed. A new leader has
/// all that a majority stored, and checks nothing before it has applied that; what only a deposed
/// leader proposed is never confirmed.
package final class JetStreamLog: EngineLog {
    /// The version that the proofs run with. Older servers lose messages when their cluster
    /// changes, confirm before they sync, or begin a term with a wrong last sequence.
    package static let minimumVersion = ServerVersion(2, 15, 1)

    private let setup: StreamSetup
    private let state = Locked(State())

    private struct State: Sendable {
        /// The last entry that is known to be there.
        var last: UInt64 = 0
        var consumer: StreamConsumer?
        var trim = TrimSteps()
        /// What the stream may hold; nil: it was not opened.
        var bytesMax: Int?
    }

    init(_ client: NATSClient, _ stream: ClusterStream) {
        setup = StreamSetup(api: JetStreamAPI(client: client), stream: stream)
    }

    private var api: JetStreamAPI { setup.api }
    private var stream: ClusterStream { setup.stream }

    package var bytesMax: Int? { state.withLock(\.bytesMax) }

    // MARK: - The stream

    package func open(makes: Bool) throws(CommitLogError) {
        let bytesMax = try setup.open(makes: makes)
        state.withLock { $0.bytesMax = bytesMax }
    }

    package func makeRoom(for bytes: Int) throws(CommitLogError) -> Int? {
        try setup.makeRoom(for: bytes)
    }

    private func info() throws(CommitLogError) -> StreamSetup.Info {
        guard let found = try setup.info() else {
            throw .damaged(
                "the stream \(stream.name) is gone; restore it from a backup (nats stream restore)"
            )
        }
        return found
    }

    // MARK: - Appending

    package func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        for (index, part) in parts.enumerated() {
            // One at a time: if a rival appends first, part 0 is refused, but part 1 would follow
            // it.
            let number = last + UInt64(index) + 1
            let writer = String(id.writer, radix: 16)
            let name = "\(writer).\(id.epoch).\(id.commit).\(index)"
            let answer = append(part, as: number, name, until: deadline)
            guard answer == .appended(number) else {
                guard case .unreachable(let text) = answer, index > 0 else { return answer }
                return .unknown(text)
            }
        }
        return .appended(last + UInt64(parts.count))
    }

    private func append(
        _ part: [UInt8],
        as number: UInt64,
        _ name: String,
        until deadline: Moment
    ) -> AppendAnswer {
        let inbox: NATSInbox
        do throws(NATSError) {
            inbox = try api.client.inbox()
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
            try api.client.send(message, from: inbox)
        } catch {
            return error.kind == .refused ? .refused("\(error)") : .unreachable("\(error)")
        }
        do throws(NATSError) {
            let answer = try inbox.next(until: min(deadline, .now + JetStreamAPI.timeout))
            guard answer.status == nil else {
                return .unknown("the stream has no leader at this moment")
            }
            return meaning(of: try JetStreamAPI.document(answer), number)
        } catch {
            return error.kind == .refused ? .refused("\(error)") : .unknown("\(error)")
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

    // MARK: - Reading

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        var (last, consumer) = state.withLock { state in (state.last, state.consumer.take()) }
        if number > last { last = try info().last }
        state.withLock { [last] in $0.last = last }
        guard number <= last else {
            consumer?.delete(api)
            guard number == last + 1 else {
                throw .damaged(
                    "the stream \(stream.name) ends with entry \(last), but there was an entry \(number - 1)"
                )
            }
            return []
        }
        // A consumer pays for many entries.
        guard bytes > StreamConsumer.bytesLeast else { return [try entry(from: number, last)] }
        if consumer?.next != number {
            consumer?.delete(api)
            consumer = nil
        }
        let entries = try fetch(from: number, atMost: bytes, last, &consumer)
        guard !entries.isEmpty else {
            _ = try entry(from: number, last)
            throw .unreachable("JetStream does not deliver entry \(number) yet")
        }
        try checkHoles(in: entries, from: number, last)
        state.withLock { [consumer] in $0.consumer = consumer }
        return entries
    }

    /// Uses another consumer if the server of the present one is gone.
    private func fetch(
        from number: UInt64,
        atMost bytes: Int,
        _ last: UInt64,
        _ consumer: inout StreamConsumer?
    ) throws(CommitLogError) -> [NumberedEntry] {
        if var known = consumer.take(),
            let entries = try? known.fetch(api, atMost: bytes, last: last), !entries.isEmpty
        {
            consumer = known
            return entries
        }
        var new = try StreamConsumer(api, stream, from: number)
        let entries = try new.fetch(api, atMost: bytes, last: last)
        consumer = new
        return entries
    }

    /// A consumer may leave out what the stream has. Only the stream tells that an entry is gone.
    private func checkHoles(
        in entries: [NumberedEntry],
        from number: UInt64,
        _ last: UInt64
    ) throws(CommitLogError) {
        var expected = number
        for entry in entries {
            if entry.number != expected {
                let missing = try self.entry(from: expected, last)
                guard missing.number == entry.number else {
                    throw .unreachable("JetStream left entry \(missing.number) out")
                }
            }
            expected = entry.number + 1
        }
    }

    /// The first entry from this number on; `last` is the last number given, so there is one.
    private func entry(from number: UInt64, _ last: UInt64) throws(CommitLogError) -> NumberedEntry
    {
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
            else { throw .unreachable("JetStream's answer has no message") }
            return NumberedEntry(number: UInt64(found), bytes: bytes)
        case .failure(let refusal):
            guard refusal.code == JetStreamAPI.Refusal.messageNotFound else {
                throw CommitLogError(refusal.kind, refusal.text)
            }
            throw .damaged("the stream \(stream.name) has lost the entries \(number) to \(last)")
        }
    }

    package var name: String { "jetstream \(stream.name)" }

    package func trim(before number: UInt64) throws(CommitLogError) -> Bool {
        let info = try info()
        guard info.first < number else { return true }
        // The stream would get another end, and so the fence.
        guard number <= info.last + 1 else {
            throw .unreachable(
                "the stream \(stream.name) ends with entry \(info.last), before \(number)"
            )
        }
        let step = state.withLock { $0.trim.next(streamBytes: info.bytes) }
        let end = min(number, info.first + step)
        let answer = try api.ask("STREAM.PURGE.\(stream.name)") { $0.member("seq", end) }
        if case .failure(let refusal) = answer {
            throw CommitLogError(refusal.kind, refusal.text)
        }
        if end == number { state.withLock { $0.trim = TrimSteps() } }
        return end == number
    }
}

/// How many entries of a stream are trimmed at once. All replicas remove them before they append
/// again, and that takes as long as they are large, which only the stream's size tells afterwards.
struct TrimSteps {
    private static let bytesMax = 16 << 20
    private static let entriesMax: UInt64 = 1 << 20

    /// Pieces of a base, with which a log begins, have half a mebibyte.
    private var entries: UInt64 = 32
    private var bytesBefore: Int?

    /// The entries of the next step, of a stream that has so many bytes now.
    mutating func next(streamBytes: Int) -> UInt64 {
        if let bytesBefore {
            // Appends in between make it less.
            let removed = bytesBefore - streamBytes
            if removed > Self.bytesMax {
                entries = max(1, entries / 2)
            } else if removed < Self.bytesMax / 2 {
                entries = min(entries * 2, Self.entriesMax)
            }
        }
        bytesBefore = streamBytes
        return entries
    }
}

import JSON
import NATS
import System

/// Reads a stream without acknowledgements. A server forgets it after 30 s without a request.
struct StreamConsumer: Sendable {
    /// Less is not worth a consumer. The server gives nothing if the next message does not fit.
    static let bytesLeast = 2 << 20
    private static let batch = 1024

    private let stream: ClusterStream
    private let name: String
    /// The number from which it delivers.
    private(set) var next: UInt64

    init(_ api: JetStreamAPI, _ stream: ClusterStream, from number: UInt64) throws(CommitLogError) {
        self.stream = stream
        name = "reader-\(hex(randomBytes(8)))"
        next = number
        let answer = try api.ask("CONSUMER.CREATE.\(stream.name).\(name)") { [name] json in
            json.member("stream_name", stream.name)
            json.object("config") { json in
                json.member("name", name)
                json.member("deliver_policy", "by_start_sequence")
                json.member("opt_start_seq", number)
                json.member("ack_policy", "none")
                json.member("replay_policy", "instant")
                json.member("inactive_threshold", 30_000_000_000)
                json.member("num_replicas", 1)
                json.member("mem_storage", true)
            }
        }
        if case .failure(let refusal) = answer {
            throw CommitLogError(refusal.kind, "a reader of the stream: \(refusal.text)")
        }
    }

    /// Entries from `next` on, of about so many bytes; empty if its server lacks them yet.
    mutating func fetch(
        _ api: JetStreamAPI,
        atMost bytes: Int,
        last: UInt64
    ) throws(CommitLogError) -> [NumberedEntry] {
        let request = "CONSUMER.MSG.NEXT.\(stream.name).\(name)"
        let deadline = Moment.now + JetStreamAPI.timeout
        do throws(NATSError) {
            while true {
                let entries = try fetch(api, request, atMost: bytes, last: last, until: deadline)
                if let end = entries.last { next = end.number + 1 }
                // A replica may lag behind the leader, which knows the last number.
                guard entries.isEmpty, Moment.now < deadline, let wake = try? WakeUp() else {
                    return entries
                }
                wake.wait(timeout: .milliseconds(20))
            }
        } catch {
            throw CommitLogError(error, request)
        }
    }

    private func fetch(
        _ api: JetStreamAPI,
        _ request: String,
        atMost bytes: Int,
        last: UInt64,
        until deadline: Moment
    ) throws(NATSError) -> [NumberedEntry] {
        var json = JSONWriter()
        json.object { json in
            json.member("batch", Self.batch)
            json.member("max_bytes", bytes)
            json.member("no_wait", true)
        }
        let inbox = try api.client.inbox(subscribes: true)
        try api.client.send(
            OutgoingMessage(to: "$JS.API.\(request)", reply: inbox.subject, body: json.bytes),
            from: inbox
        )
        var entries: [NumberedEntry] = []
        while entries.count < Self.batch, entries.last?.number != last {
            let message = try inbox.next(until: deadline)
            guard message.status == nil else {
                // The end, or the next does not fit. 503: other servers do not know the consumer
                // yet.
                guard !entries.isEmpty || [404, 408, 503].contains(message.status) else {
                    throw .noResponders(message.statusText)
                }
                break
            }
            guard let number = Self.number(message.reply) else {
                throw .malformed("a message of JetStream has no sequence")
            }
            entries.append(NumberedEntry(number: number, bytes: message.body))
        }
        return entries
    }

    /// `$JS.ACK.stream.consumer.delivered.SEQUENCE.…`, or with domain and account after `ACK`.
    static func number(_ reply: String?) -> UInt64? {
        guard let words = reply?.split(separator: "."), words.starts(with: ["$JS", "ACK"]) else {
            return nil
        }
        let number: UInt64? =
            switch words.count {
            case 9: UInt64(words[5])
            case 11...: UInt64(words[7])
            default: nil
            }
        return number.flatMap { (1...CommitEntry.highestNumber).contains($0) ? $0 : nil }
    }

    /// Nothing waits for it: the server forgets it by itself too.
    func delete(_ api: JetStreamAPI) {
        guard let inbox = try? api.client.inbox() else { return }
        let subject = "$JS.API.CONSUMER.DELETE.\(stream.name).\(name)"
        try? api.client.send(OutgoingMessage(to: subject, reply: inbox.subject), from: inbox)
    }
}

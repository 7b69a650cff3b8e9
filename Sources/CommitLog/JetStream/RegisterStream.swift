import JSON
import NATS
import System

/// The registers of a cluster: a stream that has the last message of each subject.
///
/// Any replica answers a read: a consumer would need a vote of the brokers. A replica may be
/// behind; one that lacks what this gateway has set is not believed.
final class RegisterStream: Sendable {
    /// A removed register is a message that the servers forget by themselves. A purge would leave
    /// no trace by which a reader could tell a replica that is behind.
    private static let removal = (name: "Nats-TTL", value: "5m")
    /// How long a reader looks for what this gateway has set: less than the servers keep it.
    private static let setAge = Duration.seconds(60)
    /// How long a replica has to begin its answer.
    private static let replicaTime = Duration.milliseconds(250)
    /// More than the stream holds.
    private static let answerBytesMax = 24 << 20

    let stream: ClusterStream
    private let api: JetStreamAPI
    private let newest = Locked<Position?>(nil)

    /// The last message of this gateway.
    private struct Position {
        let sequence: UInt64
        let moment: Moment
    }

    init(_ api: JetStreamAPI, _ stream: ClusterStream) {
        self.api = api
        self.stream = stream
    }

    func set(_ register: String, to value: [UInt8]?) throws(CommitLogError) {
        let subject = stream.subject(ofRegister: register)
        var headers = [(name: "Nats-Expected-Stream", value: stream.name)]
        if value == nil { headers.append(Self.removal) }
        let answer: JSONValue
        do throws(NATSError) {
            let message = try api.client.request(
                subject,
                headers: headers,
                value ?? [],
                timeout: JetStreamAPI.timeout
            )
            answer = try JetStreamAPI.document(message)
        } catch {
            throw CommitLogError(error, subject)
        }
        if let refusal = JetStreamAPI.Refusal(answer) { throw stream.error(for: refusal) }
        guard let sequence = answer["seq"]?.wholeNumber, sequence > 0 else {
            throw .unreachable("JetStream's answer has no sequence")
        }
        let position = Position(sequence: UInt64(sequence), moment: .now)
        newest.withLock { newest in
            guard position.sequence > newest?.sequence ?? 0 else { return }
            newest = position
        }
    }

    func read() throws(CommitLogError) -> [String: Register] {
        let deadline = Moment.now + JetStreamAPI.timeout
        let own = newest.withLock { $0 }
        let request = "DIRECT.GET.\(stream.name)"
        do throws(NATSError) {
            repeat {
                guard let (registers, last) = try fetch(request, until: deadline) else { continue }
                guard let own, last < own.sequence, Moment.now - own.moment < Self.setAge else {
                    return registers
                }
                guard let wake = try? WakeUp() else { break }
                wake.wait(timeout: .milliseconds(20))
            } while Moment.now < deadline
        } catch {
            throw CommitLogError(error, request)
        }
        throw .unreachable("JetStream did not answer \(request) in time, or is behind")
    }

    /// One replica's registers and its last sequence; nil: it does not answer.
    private func fetch(
        _ request: String,
        until deadline: Moment
    ) throws(NATSError) -> (registers: [String: Register], last: UInt64)? {
        var json = JSONWriter()
        json.object { json in
            json.member("seq", 1)
            json.member("batch", ClusterStream.registersMax)
            json.member("max_bytes", Self.answerBytesMax)
        }
        let inbox = try api.client.inbox()
        try api.client.send(
            OutgoingMessage(to: "$JS.API.\(request)", reply: inbox.subject, body: json.bytes),
            from: inbox
        )
        var registers: [String: Register] = [:]
        var last: UInt64 = 0
        guard let first = try answer(to: inbox, until: deadline) else { return nil }
        for number in 0...ClusterStream.registersMax {
            let message = number == 0 ? first : try inbox.next(until: deadline)
            switch message.status {
            case nil: break
            // There are no registers.
            case 404: return (registers, last)
            // The end of the answer, and of the stream unless that is larger than we make it.
            case 204 where message.header("Nats-Num-Pending") == "0": return (registers, last)
            case 204: throw .malformed("JetStream has more registers than fit")
            case 503: throw .noResponders(message.statusText)
            default: throw .malformed(message.statusText)
            }
            guard let sequence = message.header("Nats-Sequence").flatMap({ UInt64($0) }),
                let name = message.header("Nats-Subject").flatMap({ stream.register(of: $0) })
            else {
                throw .malformed("a message of JetStream has no sequence or subject")
            }
            last = max(last, sequence)
            guard message.header(Self.removal.name) == nil else {
                registers[name] = nil
                continue
            }
            registers[name] = Register(value: message.body, revision: sequence)
        }
        throw .malformed("JetStream has more registers than fit")
    }

    /// The first message of an answer. A broker that hangs gets requests until others notice, and
    /// they choose the replica at random, so it is better to ask again than to wait.
    private func answer(
        to inbox: NATSInbox,
        until deadline: Moment
    ) throws(NATSError) -> NATSMessage? {
        do throws(NATSError) {
            return try inbox.next(until: min(deadline, .now + Self.replicaTime))
        } catch {
            guard error.kind == .timeout else { throw error }
            return nil
        }
    }
}

import Configuration
import HTTP
import Logs
import Queue

/// How one kind of client talks about logs: where they belong, how they are read, and which answers it understands.
/// A value for each request, with what the path told.
///
/// Each has a file in `Dialects`, a label, and a line in `DeviceRoute`.
protocol LogDialect: Sendable {
    var label: DeviceLabel { get }
    var methods: DeviceMethods { get }

    /// Where the logs belong, as far as the head tells. Asked before the body is read.
    func address(_ head: RequestHead) throws(Refusal) -> LogAddress

    /// Whether logs of the body may name other logstores than the one that follows from the address's tag.
    var bodyNamesLogstores: Bool { get }

    /// Whether the request brings logs at all. One that only asks about some needs no room for any, and none of the
    /// destinations that its key is for.
    var bringsLogs: Bool { get }

    /// What bodies are compressed with where the head does not say it, or calls it by its name.
    func coding(_ head: RequestHead) -> ContentCoding?

    /// What `Content-Encoding` of its bodies may say. A refusal for another one lists them.
    var contentEncodings: String { get }

    /// Looks at the body as it came, before it is inflated.
    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal)

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs

    /// The answer when all is on disk. Receipt, CORS and label are added to it.
    func accepted(_ acceptance: Acceptance) -> Response

    /// How it reads errors.
    func refused(_ refusal: Refusal) -> Response
}

extension LogDialect {
    var bodyNamesLogstores: Bool { false }

    var bringsLogs: Bool { true }

    func coding(_ head: RequestHead) -> ContentCoding? { nil }

    var contentEncodings: String { BodyDecoder.contentEncodings }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {}
}

/// Where a request wants its logs.
enum LogAddress: Equatable {
    case logstore(String)
    /// Of clients that know no logstores; it becomes the topic too.
    case tag(String)
}

/// What a dialect reads.
struct LogRequest {
    let head: RequestHead
    /// The body, inflated. Valid while it is read, and 64 bytes after its end may be read too.
    let content: UnsafeRawBufferPointer
    /// Where the head said that the logs belong.
    let target: RoutingTable.Target
    /// For logs that belong elsewhere.
    let table: RoutingTable
    /// Tells whether there is room for them.
    let queue: any BatchQueue
    let timing: BatchTiming
    let limits: LimitSettings
    /// What its logs may become together where each repeats what they have in common, as what was sent allows.
    let repeatedBytesMax: Int
    /// Whether marks in the content may tell a request that came before: not where the client named it, and not
    /// where nobody remembers.
    let recognizesContent: Bool
    /// Whether what the query calls `key` is a device's, and no log's.
    let hidesKey: Bool
    /// What the request wants done with JSON that is damaged.
    let damage: LogRules.Damage

    /// What the destination wants of logs, and the request of damaged ones.
    var rules: LogRules {
        var rules = target.intake.rules
        rules.damage = damage
        return rules
    }
}

/// That everything a request brought is on disk, now or since it came the first time.
struct Acceptance: Sendable {
    let receipt: String
    let logs: Int
}

/// What one request brought.
struct TakenLogs {
    /// Logs that go to different places, or differ in topic, source or tags.
    var parts: [TakenPart]
    /// What the request is recognised by when it comes again; nil when nothing in it tells.
    var identity: [UInt8]?
    /// What came of each part, where some was refused and the rest was not: empty otherwise. It belongs to the
    /// identity, since what was refused may be taken when the request comes again.
    var outcome = ""
    /// Instead of the dialect's usual answer, where that depends on what was read.
    var accepted: (@Sendable (Acceptance) -> Response)?
    /// How long that answer's body is, where it grows with the request.
    var answerBytes = 0

    init(_ parts: [TakenPart], identity: [UInt8]? = nil) {
        self.parts = parts
        self.identity = identity
    }
}

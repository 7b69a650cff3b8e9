import Configuration
import HTTP
import Logs
import Queue

/// How one kind of client sends logs: where they belong, how they are read, and which answers it understands.
///
/// Each request has a value of its own. The path makes it; `readHead` adds what the rest of the head says, so that the
/// head is read once. Each dialect has a file in `Dialects`, a label, and a line in `DeviceRoute`.
protocol LogDialect: Sendable {
    var label: DeviceLabel { get }
    var methods: DeviceMethods { get }

    /// Reads the query and the header fields, keeps what `read` needs of them, and returns where the logs belong as far
    /// as the head tells. Called before the body is read.
    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress

    /// True: logs of the body may name other logstores than the one that follows from the address's tag.
    var bodyNamesLogstores: Bool { get }

    /// False: the request only asks about logs. It needs no room in the queue, and no right to send to a destination.
    var bringsLogs: Bool { get }

    /// The compression of bodies whose head names none, or names this one.
    func coding(_ head: RequestHead) -> ContentCoding?

    /// The accepted values of `Content-Encoding`. A refusal for another one lists them.
    var contentEncodings: String { get }

    /// Checks the body as it arrived, before it is inflated.
    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal)

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs

    /// The answer when all logs are on disk. The caller adds receipt, CORS fields and label.
    func accepted(_ acceptance: Acceptance) -> Response

    /// A refusal in the form that the client understands.
    func refused(_ refusal: Refusal) -> Response
}

extension LogDialect {
    var bodyNamesLogstores: Bool { false }

    var bringsLogs: Bool { true }

    func coding(_ head: RequestHead) -> ContentCoding? { nil }

    var contentEncodings: String { BodyDecoder.contentEncodings }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {}
}

/// The place that a request names for its logs.
enum LogAddress: Equatable {
    case logstore(String)
    /// From clients that know no logstores. It becomes the topic too.
    case tag(String)
}

/// The text of a tag. Topics and routes are made of it.
enum TagText {
    static let bytes = 1...128

    static func isSound(_ text: String) -> Bool {
        bytes.contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    }
}

/// A request as a dialect reads it.
struct LogRequest {
    let head: RequestHead
    /// The inflated body. Valid during the read; 64 bytes after its end may be read too.
    let content: UnsafeRawBufferPointer
    /// The target that the head names.
    let target: RoutingTable.Target
    /// Finds the targets of logs that name their own.
    let table: RoutingTable
    /// Tells which of those targets have room.
    let queue: any BatchQueue
    let timing: BatchTiming
    let limits: LimitSettings
    /// The size that the request's logs may reach together when each repeats their common fields. It follows from the
    /// size of the body.
    let repeatedBytesMax: Int
    /// True: marks in the content may identify a repeated request. False when the client named the request, or when
    /// the queue remembers none.
    let recognizesContent: Bool
    /// True: `key` in the query is a device's key, not a field of a log.
    let hidesKey: Bool
    /// What the request wants done with damaged JSON.
    let damage: LogRules.Damage

    /// The destination's rules for logs, with the request's rule for damaged JSON.
    var rules: LogRules {
        var rules = target.intake.rules
        rules.damage = damage
        return rules
    }
}

extension Destination.Intake {
    fileprivate var rules: LogRules {
        LogRules(
            times: TimeWindow(past: logDelayMax),
            late: late,
            oversize: oversize == .truncate ? .cut : .setAside
        )
    }

    private var late: LogRules.Late {
        switch lateLogs {
        case .rewrite: .rewrite
        case .drop: .drop
        case .deadLetter: .setAside
        }
    }
}

/// All logs of a request are on disk, since now or since its first arrival.
struct Acceptance: Sendable {
    let receipt: String
    let logs: Int
}

/// The logs of one request.
struct TakenLogs {
    /// Logs with different targets, topics, sources or tags.
    var parts: [TakenPart]
    /// Identifies the request when it is repeated; nil when nothing in it does.
    var identity: [UInt8]?
    /// The outcome of each part, when some were refused and others were not; empty otherwise. It belongs to the
    /// identity, since a repetition may succeed with the refused parts.
    var outcome = ""
    /// Replaces the dialect's usual answer, when the answer depends on the content.
    var accepted: (@Sendable (Acceptance) -> Response)?
    /// The size of that answer's body, when it grows with the request.
    var answerBytes = 0

    init(_ parts: [TakenPart], identity: [UInt8]? = nil) {
        self.parts = parts
        self.identity = identity
    }
}

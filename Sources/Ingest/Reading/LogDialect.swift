import Configuration
import HTTP
import Logs
import Queue
import System

/// How one kind of client sends logs: its paths, what their heads say, and the form of its
/// refusals.
///
/// Each request has a value of its own, made from the path. Each dialect has a file in `Dialects`,
/// a label, and a line in `DeviceRoute`.
protocol LogDialect: Sendable {
    var label: DeviceLabel { get }
    var methods: DeviceMethods { get }

    /// False: the request only asks about logs. It needs no room in the queue, and no right to send
    /// to a destination.
    var bringsLogs: Bool { get }

    /// The compression of bodies whose head names none, or names this one.
    var coding: ContentCoding? { get }

    /// False: the content is protobuf, so its bytes do not tell how much work they are.
    var isText: Bool { get }

    /// The accepted values of `Content-Encoding`. A refusal for another one lists them.
    var contentEncodings: String { get }

    /// Reads the query and the header fields, before the body comes: where the logs belong as far
    /// as the head tells, and the reader of the body, which keeps what it needs of the head.
    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader

    /// A refusal in the form that the client understands.
    func refused(_ refusal: Refusal) -> Response
}

typealias AddressedReader = (address: LogAddress, reader: any LogReader)

extension LogDialect {
    var bringsLogs: Bool { true }

    var coding: ContentCoding? { nil }

    var isText: Bool { true }

    var contentEncodings: String { BodyDecoder.contentEncodings }
}

/// Reads the body of one request into logs.
protocol LogReader: Sendable {
    /// The routing tag of all logs. Nil: the body tells it.
    var tag: String? { get }

    /// True: logs of the body may name other logstores than the one that follows from the address's
    /// tag.
    var bodyNamesLogstores: Bool { get }

    /// Checks the body as it arrived, before it is inflated.
    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal)

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs
}

extension LogReader {
    var tag: String? { nil }

    var bodyNamesLogstores: Bool { false }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {}
}

/// Where a request's head wants its logs.
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

    /// The beginning of a text that devices chose for another purpose.
    static func cut(_ text: String, orElse fallback: String) -> String {
        text.isEmpty ? fallback : text.prefix(bytes: bytes.upperBound)
    }
}

/// A request as a dialect reads it.
struct LogRequest {
    let head: RequestHead
    /// The inflated body, with the destination's rules for logs and the request's rule for damaged
    /// JSON. Valid during the read; 64 bytes after its end may be read too.
    let body: LogBody
    /// The target that the head names.
    let target: RoutingTable.Target
    /// Finds the targets of logs that name their own.
    let table: RoutingTable
    /// Tells which of those targets have room.
    let queue: any BatchQueue
    let limits: LimitSettings
    /// The size that the request's logs may reach together when each repeats their common fields.
    /// It follows from the size of the body.
    let repeatedBytesMax: Int
    /// True: marks in the content may identify a repeated request. False when the client named the
    /// request, or when the queue remembers none.
    let recognizesContent: Bool
    /// True: `key` in the query is a device's key, not a field of a log.
    let hidesKey: Bool
    /// The status of an accepted request of `/logs`, unless its query names one.
    let plainStatus: Int

    var content: UnsafeRawBufferPointer { body.bytes }

    func identity(_ kind: RequestIdentity, _ marks: [String]) -> [UInt8] {
        kind.digest(marks, content, target)
    }

    /// The target of logs that name a tag of their own. A logstore in the head applies to all logs.
    func target(ofTag tag: String) throws(Refusal) -> RoutingTable.Target {
        guard let known = target.tag, !known.hasSameBytes(as: tag) else { return target }
        return try table.target(of: head, .tag(tag))
    }
}

extension RequestHead {
    /// The logstore that clients without a logstore in their paths name, otherwise the tag.
    func address(orTag tag: String) -> LogAddress {
        guard let logstore = field("x-log-logstore"), !logstore.isEmpty else { return .tag(tag) }
        return .logstore(logstore)
    }
}

extension Destination.Intake {
    var rules: LogRules {
        LogRules(
            times: lateLogs == .keep ? nil : TimeWindow(past: logDelayMax),
            late: late,
            oversize: size
        )
    }

    private var size: LogRules.Oversize {
        switch oversize {
        case .keep: .keep
        case .truncate: .cut
        case .deadLetter: .setAside
        }
    }

    private var late: LogRules.Late {
        switch lateLogs {
        case .keep, .rewrite: .rewrite
        case .drop: .drop
        case .deadLetter: .setAside
        }
    }
}

/// All logs of a request are on disk, since now or since its first arrival.
struct Acceptance: Sendable {
    let receipt: [UInt8]
    let logs: Int

    var receiptText: String { String(decoding: receipt, as: UTF8.self) }
}

/// The logs of one request.
struct TakenLogs {
    /// Logs with different addresses, topics, sources or tags.
    var groups: [LogGroup]
    /// The tags of documents that were refused one by one, and are in no group.
    var refusedTags: [String] = []
    /// Identifies the request when it is repeated; nil when nothing in it does.
    var identity: [UInt8]?
    /// The outcome of each part, when some were refused and others were not; empty otherwise. It
    /// belongs to the identity, since a repetition may succeed with the refused parts.
    var outcome = ""
    /// The answer when all logs are on disk. The caller adds receipt, CORS fields and label.
    var answer: @Sendable (Acceptance) -> Response
    /// The size of the answer's body, when it grows with the request.
    var answerBytes = 0

    init(
        _ groups: [LogGroup],
        identity: [UInt8]? = nil,
        answer: @escaping @Sendable (Acceptance) -> Response = { _ in Response(status: 200) }
    ) {
        self.groups = groups
        self.identity = identity
        self.answer = answer
    }

    /// Here and where parts are counted, a span gives elements in place: a loop over elements
    /// copies each, with all its references.
    var logCount: Int {
        let groups = groups.span
        return groups.indices.reduce(0) { $0 + groups[$1].tracked.logs.count }
    }

    /// Groups of a protocol whose logs repeat their SDK's marks. A repetition is recognised by pack
    /// ids among the tags, or by the client's number of the request.
    init(_ groups: [LogGroup], of request: LogRequest, _ sequence: String? = nil) {
        self.init(groups)
        guard request.recognizesContent else { return }
        let packIDs = groups.compactMap { group in
            group.tracked.tags.last { $0.key.hasSameBytes(as: DeviceTags.packIDName) }?.value
        }
        if let first = groups.first, !packIDs.isEmpty {
            let topic = request.target.labels.topic(of: first)
            identity = request.identity(.packet, [topic, packIDs.joined(separator: "\n")])
        } else if let sequence {
            identity = request.identity(.numbered, [sequence])
        }
    }
}

/// Logs of a request that have the same address, topic, source and tags.
struct LogGroup {
    var tracked: TrackedLogs
    /// What the address of the logs means without routes.
    let target: RoutingTable.Target
    /// Filters and routes match it.
    let tag: String
    /// The topic where neither the device nor the destination sets one.
    let fallbackTopic: String
    /// True when a filter gave the logs another tag.
    var isRetagged = false
    /// True when filters gave some of the logs another time.
    var isRetimed = false

    init(
        _ tracked: TrackedLogs,
        _ target: RoutingTable.Target,
        tag: String,
        fallbackTopic: String = ""
    ) {
        self.tracked = tracked
        self.target = target
        self.tag = tag
        self.fallbackTopic = fallbackTopic
    }

    var logs: DecodedLogs { tracked.logs }
}

extension Destination.Labels {
    /// The trailer of logs: the device's values, completed by the operator's.
    func trailer(
        of group: LogGroup,
        _ tags: [(key: String, value: String)]
    ) -> GroupTrailer {
        let own = self.tags.map { (key: $0.key, value: $0.value) }
        return GroupTrailer(
            topic: topic(of: group),
            source: group.tracked.source.flatMap { $0.isEmpty ? nil : $0 } ?? source,
            tags: tags.isEmpty ? own : tags + own
        )
    }

    func topic(of group: LogGroup) -> String {
        if let own = group.tracked.topic, !own.isEmpty { return own }
        return topic.isEmpty ? group.fallbackTopic : topic
    }
}

extension RequestHead {
    /// The sender's choice for damaged JSON: `?on_error=refuse` accepts a body unchanged or not at
    /// all.
    ///
    /// A GET has its log in the query, where `on_error` may be a field.
    var damage: LogRules.Damage {
        get throws(Refusal) {
            guard method == .post, let query, !query.isEmpty else { return .setAside }
            for pair in bytes[query].split(separator: UInt8(ascii: "&")) {
                let name = pair.prefix { $0 != UInt8(ascii: "=") }
                guard name.elementsEqual("on_error".utf8) else { continue }
                let value = String(decoding: pair.dropFirst(name.count + 1), as: UTF8.self)
                switch value {
                case "refuse": return .refuse
                case "dead_letter": return .setAside
                default:
                    throw .badParameter("the query: on_error is neither dead_letter nor refuse")
                }
            }
            return .setAside
        }
    }
}

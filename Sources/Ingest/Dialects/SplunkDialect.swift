import Configuration
import HTTP
import JSON
import Logs
import Synchronization
import System

/// Splunk's HTTP Event Collector: events as JSON, raw lines, and questions whether events are safe.
///
/// A client that names a channel gets an `ackId` with each answer, as with `useACK` in Splunk; see
/// `AcknowledgementID`. The channel's value does not matter.
struct SplunkDialect: LogDialect {
    private enum Form {
        case events
        case lines
        /// A question whether events are safe.
        case acknowledgements
    }

    /// The tag of logs without an index.
    fileprivate static let tag = "splunk"

    private let form: Form
    private let hasAuthorization: Bool
    private let hasChannel: Bool
    /// The query's values for all lines; nil when the query cannot be read, or brings none. The
    /// pairs themselves are not kept: an empty pair takes sixteen times its bytes, and the dialect
    /// lives until the logs are stored.
    private let lineOrigin: SplunkEvents?

    var label: DeviceLabel { .splunk }
    var methods: DeviceMethods { .post }
    var bringsLogs: Bool { form != .acknowledgements }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: RequestHead) {
        guard path.begins(with: "/services/collector") else { return nil }
        let rest = UnsafeBufferPointer(rebasing: path["/services/collector".utf8.count...])
        if rest.isEmpty || rest.equals("/event") || rest.equals("/event/1.0") {
            form = .events
        } else if rest.equals("/raw") || rest.equals("/raw/1.0") {
            form = .lines
        } else if rest.equals("/ack") || rest.equals("/ack/1.0") {
            form = .acknowledgements
        } else {
            return nil
        }
        hasAuthorization = head.fieldRange("authorization") != nil
        let query = head.queryPairs
        hasChannel =
            head.fieldRange("x-splunk-request-channel")?.isEmpty == false
            || query?.contains { $0.name == "channel" && !$0.value.isEmpty } == true
        lineOrigin = form == .lines ? query.map(SplunkEvents.init(query:)) : nil
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        switch form {
        case .events:
            return (head.address(orTag: Self.tag), SplunkEventReader(hasChannel: hasChannel))
        case .lines:
            guard let lineOrigin else {
                throw .badParameter("the query has a % that is no escape")
            }
            // The index of lines is their topic, whatever the logstore.
            let tag = try lineOrigin.tag
            let reader = SplunkLineReader(index: tag, origin: lineOrigin, hasChannel: hasChannel)
            return (head.address(orTag: tag), reader)
        case .acknowledgements:
            guard hasChannel else { throw .missingChannel }
            return (head.address(orTag: Self.tag), AcknowledgementReader())
        }
    }

    func refused(_ refusal: Refusal) -> Response {
        SplunkAnswer(refusal, hasAuthorization: hasAuthorization).response
    }
}

private struct SplunkEventReader: LogReader {
    let hasChannel: Bool

    var bodyNamesLogstores: Bool { true }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let groups: [SplunkEvents]
        do throws(SplunkFault) {
            groups = try decoder.json.decodeSplunk(request.body)
        } catch {
            throw Refusal(error)
        }
        var parts: [LogGroup] = []
        let most = request.limits.json.batches
        let isCrowd = groups.count > most && Set(groups.map { ByteText($0.host) }).count > most
        for group in groups {
            do throws(Refusal) {
                let tag = try group.tag
                let target = try request.target(ofTag: tag)
                // With too many streams, tags become fields; a source cannot.
                let hidesHost = isCrowd && parts.count >= most
                parts.append(LogGroup(group, target, tag: tag, hostIsTag: hidesHost))
            } catch {
                var refusal = error
                refusal.item = group.first
                throw refusal
            }
        }
        var taken = TakenLogs(parts)
        taken.answer = SplunkAnswer.success(acknowledged: hasChannel)
        return taken
    }
}

private struct SplunkLineReader: LogReader {
    /// The index of all lines, or the dialect's name.
    let index: String
    /// The query's values for all lines.
    let origin: SplunkEvents
    let hasChannel: Bool

    var tag: String? { index }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let noData = Refusal(400, "NoData", "the body has no line")
        guard !request.content.isEmpty else { throw noData }
        var events = origin
        do throws(LogDecodingError) {
            events.logs = try decoder.lines.decode(request.body)
        } catch {
            throw .tooLarge(error.description, position: error.position)
        }
        guard events.logs.count > 0 else { throw noData }
        var taken = TakenLogs([LogGroup(events, request.target, tag: index)])
        taken.answer = SplunkAnswer.success(acknowledged: hasChannel)
        return taken
    }
}

private struct AcknowledgementReader: LogReader {
    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        let answer = try AcknowledgementQuery(request, decoder).answer
        var taken = TakenLogs([])
        taken.answerBytes = answer.utf8.count
        taken.answer = { _ in
            Response(status: 200, contentType: "application/json", text: answer)
        }
        return taken
    }
}

extension SplunkAnswer {
    fileprivate static func success(
        acknowledged: Bool
    ) -> @Sendable (Acceptance) -> Response {
        { _ in
            var answer = SplunkAnswer(200, 0, "Success")
            if acknowledged { answer.acknowledgement = .next() }
            return answer.response
        }
    }
}

extension SplunkEvents {
    /// The origin that a query gives to all lines of its body.
    fileprivate init(query: [(name: String, value: String)]) {
        self.init()
        for (name, value) in query {
            switch name {
            case "host": host = value
            case "source": source = value
            case "sourcetype": sourcetype = value
            case "index": index = value
            // Clients add parameters that only Splunk knows.
            default: continue
            }
        }
    }

    fileprivate var tag: String {
        get throws(Refusal) {
            guard !index.isEmpty else { return SplunkDialect.tag }
            guard TagText.isSound(index) else { throw .badIndex }
            return index
        }
    }

    /// Source types have names like `aws:cloudtrail`: valid topics, but not valid logstores.
    fileprivate var topic: String {
        guard index.isEmpty else { return index }
        return TagText.isSound(sourcetype) ? sourcetype : SplunkDialect.tag
    }
}

extension LogGroup {
    /// The host becomes SLS's source if it fits. The other origins become tags.
    fileprivate init(
        _ events: SplunkEvents,
        _ target: RoutingTable.Target,
        tag: String,
        hostIsTag: Bool = false
    ) {
        let isSource = !hostIsTag && events.host.utf8.count <= LogLimits().sourceBytes
        let tags = [
            ("host", isSource ? "" : events.host), ("index", events.index),
            ("source", events.source), ("sourcetype", events.sourcetype),
        ]
        let tracked = TrackedLogs(
            logs: events.logs,
            source: isSource ? events.host : nil,
            tags: tags.filter { !$0.1.isEmpty }.map { (key: $0.0, value: $0.1) }
        )
        self.init(tracked, target, tag: tag, fallbackTopic: events.topic)
    }
}

/// An answer in Splunk's form: a status, a code, and Splunk's text for the code. Ours adds a
/// reason.
struct SplunkAnswer {
    let status: Int
    let code: Int
    let text: String
    var reason: String?
    /// The index of the event at fault.
    var event: Int?
    /// The id with which the client asks whether its events are safe.
    var acknowledgement: AcknowledgementID?

    init(_ status: Int, _ code: Int, _ text: String) {
        (self.status, self.code, self.text) = (status, code, text)
    }

    init(_ refusal: Refusal, hasAuthorization: Bool) {
        let known: (status: Int?, code: Int, text: String) =
            switch (refusal.code, refusal.status) {
            case ("NoData", _): (nil, 5, "No data")
            case ("EventMissing", _): (nil, 12, "Event field is required")
            case ("EventBlank", _): (nil, 13, "Event field cannot be blank")
            case ("FieldsInvalid", _): (nil, 15, "Error in handling indexed fields")
            case ("ChannelMissing", _): (nil, 10, "Data channel is missing")
            // Splunk does not use 404 for it.
            case ("IndexInvalid", _), (_, 404): (400, 7, "Incorrect index")
            case _ where refusal == AccessProblem.missingKey.refusal:
                hasAuthorization
                    ? (401, 3, "Invalid authorization") : (401, 2, "Token is required")
            case (_, 401), (_, 403): (403, 4, "Invalid token")
            case (_, 413): (nil, 27, "Request entity too large")
            case (_, 429), (_, 503): (nil, 9, "Server is busy")
            case (_, 405): (nil, 404, "The requested URL was not found on this server.")
            case (_, 500...): (nil, 8, "Internal server error")
            default: (nil, 6, "Invalid data format")
            }
        self.init(known.status ?? refusal.status, known.code, known.text)
        reason = refusal.reason
        event = refusal.item
    }

    var response: Response {
        var json = JSONWriter()
        json.object { json in
            json.member("text", text)
            json.member("code", code)
            if let event { json.member("invalid-event-number", event) }
            if let acknowledgement { json.member("ackId", acknowledgement.number) }
            if let reason { json.member("reason", reason) }
        }
        return Response(status: status, contentType: "application/json", text: json.text)
    }
}

/// The id with which a Splunk client asks whether its events are safe: the microsecond of the
/// answer since 1970, or the next free one.
///
/// An id is issued only after the commit, so an issued id means that its events are on disk.
/// Nothing is stored for it: another gateway behind the same name, or a restarted one, gives the
/// same answer. Ids of another server (Splunk counts from zero) lie before the first possible id,
/// and are not confirmed: their sender repeats the events.
struct AcknowledgementID: Equatable {
    /// From 2026-01-01 to 2106, the last year of logs' times.
    private static let issued: Range<UInt64> = 1_767_225_600_000_000..<4_294_967_296_000_000
    private static let last = Atomic<UInt64>(issued.lowerBound)

    let number: UInt64

    /// An id that no other answer has.
    static func next(at now: WallTime = .now) -> AcknowledgementID {
        let microsecond = UInt64(clamping: now.nanoseconds / 1000)
        var before = last.load(ordering: .relaxed)
        while true {
            let number = max(before + 1, microsecond)
            let (isDone, found) = last.compareExchange(
                expected: before,
                desired: number,
                ordering: .relaxed
            )
            if isDone { return AcknowledgementID(number: number) }
            before = found
        }
    }

    var isIssued: Bool { Self.issued.contains(number) }
}

/// A question about ids, and the answer: `{"acks":{"7":true}}`.
struct AcknowledgementQuery {
    /// Clients ask again for ids that an answer leaves out, so the bound keeps a small question
    /// from causing a huge answer.
    private static let idsMax = 1 << 16
    /// Twenty digits in quotes, a colon, `false` and a comma.
    private static let bytesOfID = 29

    let ids: [AcknowledgementID]

    init(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) {
        let room = request.limits.http.answerBytes - #"{"acks":{}}"#.utf8.count
        let numbers = try Refusal.decoding(
            try decoder.json.decodeAcknowledgements(
                request.body,
                atMost: min(Self.idsMax, room / Self.bytesOfID)
            )
        )
        ids = numbers.map { AcknowledgementID(number: $0) }
    }

    var answer: String {
        var text = #"{"acks":{"#
        var told: Set<UInt64> = []
        for id in ids where told.insert(id.number).inserted {
            if text.utf8.last != UInt8(ascii: "{") { text += "," }
            text += "\"\(id.number)\":\(id.isIssued)"
        }
        return text + "}}"
    }
}

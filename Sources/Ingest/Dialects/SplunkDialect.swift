import Configuration
import HTTP
import Logs

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
    private static let tag = "splunk"

    private let form: Form
    private let hasAuthorization: Bool
    private let hasChannel: Bool
    /// The query's values for all lines; nil when the query cannot be read. The pairs themselves are not kept: an empty
    /// pair takes sixteen times its bytes, and the dialect lives until the logs are stored.
    private let lineOrigin: SplunkEvents?

    var label: DeviceLabel { .splunk }
    var methods: DeviceMethods { .post }
    var bodyNamesLogstores: Bool { form == .events }
    var bringsLogs: Bool { form != .acknowledgements }

    init?(_ path: UnsafeBufferPointer<UInt8>, _ head: borrowing RequestHead) {
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
        lineOrigin = form == .lines ? query.map(SplunkEvents.init(query:)) : SplunkEvents()
    }

    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress {
        guard form != .acknowledgements || hasChannel else { throw .missingChannel }
        guard let lineOrigin else {
            throw Refusal(400, "ParameterInvalid", "the query has a % that is no escape")
        }
        // The index of lines is their topic, whatever the logstore.
        let tag = try tag(of: lineOrigin)
        if let logstore = head.field("x-log-logstore"), !logstore.isEmpty {
            return .logstore(logstore)
        }
        return .tag(tag)
    }

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        switch form {
        case .events: return try events(request, reader)
        case .lines: return try lines(request, reader)
        case .acknowledgements:
            let answer = try AcknowledgementQuery(request, reader).answer
            var taken = TakenLogs([])
            taken.answerBytes = answer.utf8.count
            taken.accepted = { _ in
                Response(status: 200, contentType: "application/json", text: answer)
            }
            return taken
        }
    }

    private func events(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        let groups: [SplunkEvents]
        do throws(SplunkFault) {
            groups = try reader.decoder.decodeSplunk(
                request.content,
                request.timing,
                request.rules
            )
        } catch {
            throw Refusal(error)
        }
        var parts: [(TrackedLogs, RoutingTable.Target)] = []
        let most = request.limits.json.batches
        let isCrowd = groups.count > most && Set(groups.map { ByteText($0.host) }).count > most
        for group in groups {
            do throws(Refusal) {
                let target = try target(try tag(of: group), request)
                // With too many streams, tags become fields; a source cannot.
                let hidesHost = isCrowd && parts.count >= most
                let logs = TrackedLogs(group, topic(of: group), target, hostIsTag: hidesHost)
                parts.append((logs, target))
            } catch {
                var refusal = error
                refusal.item = group.first
                throw refusal
            }
        }
        return TakenLogs(parts, of: request)
    }

    private func lines(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        let noData = Refusal(400, "NoData", "the body has no line")
        guard !request.content.isEmpty else { throw noData }
        var events = lineOrigin ?? SplunkEvents()
        do throws(LogDecodingError) {
            events.logs = try reader.lines.decode(
                request.content,
                request.timing,
                request.rules
            )
        } catch {
            throw Refusal(413, "PostBodyTooLarge", error.description, position: error.position)
        }
        guard events.logs.count > 0 else { throw noData }
        let logs = TrackedLogs(events, topic(of: events), request.target)
        return TakenLogs([(logs, request.target)], of: request)
    }

    private func tag(of events: SplunkEvents) throws(Refusal) -> String {
        guard !events.index.isEmpty else { return Self.tag }
        guard TagText.isSound(events.index) else { throw .badIndex }
        return events.index
    }

    /// Source types have names like `aws:cloudtrail`: valid topics, but not valid logstores.
    private func topic(of events: SplunkEvents) -> String {
        guard events.index.isEmpty else { return events.index }
        return TagText.isSound(events.sourcetype) ? events.sourcetype : Self.tag
    }

    /// A logstore in the head applies to all events.
    private func target(
        _ tag: String,
        _ request: LogRequest
    ) throws(Refusal) -> RoutingTable.Target {
        guard let known = request.target.tag, !known.hasSameBytes(as: tag) else {
            return request.target
        }
        return try request.table.target(
            host: request.head.field("host"),
            project: request.head.field("x-log-project"),
            .tag(tag)
        )
    }

    func accepted(_ acceptance: Acceptance) -> Response {
        var answer = SplunkAnswer(200, 0, "Success")
        if hasChannel { answer.acknowledgement = .next() }
        return answer.response
    }

    func refused(_ refusal: Refusal) -> Response {
        SplunkAnswer(refusal, hasAuthorization: hasAuthorization).response
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
}

extension TrackedLogs {
    /// The host becomes SLS's source if it fits. The other origins become tags.
    fileprivate init(
        _ events: SplunkEvents,
        _ topic: String,
        _ target: RoutingTable.Target,
        hostIsTag: Bool = false
    ) {
        let isSource = !hostIsTag && events.host.utf8.count <= LogLimits().sourceBytes
        let tags = [
            ("host", isSource ? "" : events.host), ("index", events.index),
            ("source", events.source), ("sourcetype", events.sourcetype),
        ]
        self.init(
            logs: events.logs,
            topic: target.labels.topic.isEmpty ? topic : target.labels.topic,
            source: isSource ? events.host : nil,
            tags: tags.filter { !$0.1.isEmpty }.map { (key: $0.0, value: $0.1) }
        )
    }
}

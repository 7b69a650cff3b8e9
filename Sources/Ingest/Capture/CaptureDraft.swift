import Configuration
import Crypto
import HTTP
import Logs
import Net
import Queue
import Routing
import System

/// The record of a request that is under way. Dropped without a trace when no capture wants it
/// after all.
///
/// Most requests that are looked at are dropped, so nothing becomes text before `answered` keeps
/// the record.
///
/// `@unchecked Sendable`: one thread at a time uses it, the handler's and then the queue's.
final class CaptureDraft: @unchecked Sendable {
    private static let answerBytesMax = 4 << 10
    /// What is followed of the logs' way through filters.
    private static let traceBytesMax = 256 << 10

    enum End: Sendable {
        case nothingToStore
        case stored(receipt: String)
        case repeated(receipt: String)
        case refused(Refusal)

        fileprivate var receipt: String? {
            switch self {
            case .nothingToStore, .refused: nil
            case .stored(let receipt), .repeated(let receipt): receipt
            }
        }
    }

    /// How much of the request the filters of the sessions were compared with.
    private enum Known: Int { case head, content, logs }

    private let captures: Captures
    private let head: RequestHead
    private let proxies: [AddressRange]
    private let start: Moment
    private var sessions: [CaptureSession]
    private var known = Known.head
    /// nil: it was refused before its target was known.
    private var request: AdmittedLogs?
    /// A filter redacts logs of this tag, so nothing that shows them as they came is kept. While
    /// the tag is unknown, it may be any tag.
    private var redacts: Bool
    private var tag: String?
    private var body: CaptureRecord.Body?
    private var inflated: CaptureRecord.Body?
    /// nil: its logs could not be read.
    private var logsHaveSecrets: Bool?
    /// Follows the logs through filters, if a capture wants them when they are accepted.
    private(set) var trace: FilterTrace?
    private var accepted: CapturedLogs?
    /// Learns where the logs are stored.
    private var track: BatchTrack?

    /// nil: no capture wants it.
    init?(
        _ head: RequestHead,
        _ captures: Captures,
        _ proxies: [AddressRange],
        anyTagIsRedacted: Bool
    ) {
        start = .now
        sessions = captures.wanting(head, behind: proxies, at: start)
        guard !sessions.isEmpty else { return nil }
        self.captures = captures
        self.head = head
        self.proxies = proxies
        redacts = anyTagIsRedacted
    }

    // MARK: - Who wants it

    var isWanted: Bool { !sessions.isEmpty }

    /// A capture wants the logs when they are accepted; only then their way is followed.
    private var wantsAccepted: Bool { sessions.contains(where: \.filter.admitsAccepted) }

    func admit(_ request: AdmittedLogs, _ plans: TagPlans?) {
        // A tag that only the body tells is known when that is read.
        let tag = request.reader.tag
        let tags = tag.map { [$0] } ?? []
        sessions.removeAll {
            !$0.filter.admits(key: request.sender?.name)
                || !tags.isEmpty && !$0.filter.admits(tags: tags)
        }
        (self.request, self.tag) = (request, tag)
        if let tag { redacts = plans?.redacts(tag) ?? false }
    }

    /// Logs that could be read. Keeps the body if the queue's answer may be wanted.
    func read(
        _ taken: TakenLogs,
        _ plans: TagPlans?,
        _ body: UnsafeRawBufferPointer,
        content: UnsafeRawBufferPointer,
        isCompressed: Bool
    ) {
        let tags = taken.groups.map(\.tag) + taken.refusedTags
        // The tag first: to look for a text takes time.
        sessions.removeAll { !$0.filter.admits(tags: tags) }
        matchText(in: content)
        known = .logs
        guard isWanted else { return }
        logsHaveSecrets = taken.haveSecrets
        if let first = tags.first {
            let isOfTag = tag != nil && redacts
            tag = tag ?? first
            redacts = isOfTag || tags.contains { plans?.redacts($0) ?? false }
        }
        if wantsAccepted {
            trace = FilterTrace(bytesMax: Self.traceBytesMax, logsMax: CapturedLogs.logsMax)
        } else if !sessions.contains(where: { $0.filter.admits(status: 503) }) {
            return
        }
        keep(body, content, isCompressed: isCompressed)
    }

    /// The content, inflated where the body was compressed.
    private func matchText(in content: UnsafeRawBufferPointer) {
        known = .content
        sessions.removeAll { $0.text.map { !content.contains($0) } ?? false }
    }

    // MARK: - What is kept

    /// About the memory that it takes while the queue stores the logs.
    var heldBytes: Int {
        let bodies = [body, inflated].reduce(0) { $0 + ($1?.text?.utf8.count ?? 0) }
        let tracks = BatchTrack.weight * (accepted?.batches.count ?? 0)
        return bodies + tracks + (accepted?.weight ?? 0)
    }

    /// Gives the record up, and counts the request as missed by the captures that want it when it
    /// is accepted: there is no room for the draft, and a capture must not cost a request its logs.
    func miss() {
        for session in sessions where session.filter.admitsAccepted { session.countMissed() }
        sessions = []
        (body, inflated, accepted, trace) = (nil, nil, nil, nil)
    }

    /// Keeps the body, once. `content` is the inflated body, where it could be inflated.
    func keep(
        _ body: UnsafeRawBufferPointer,
        _ content: UnsafeRawBufferPointer?,
        isCompressed: Bool
    ) {
        if let content, known == .head { matchText(in: content) }
        guard isWanted, self.body == nil else { return }
        let reason =
            tag == nil
            ? "a filter redacts logs of some tag, and the tag of these is unknown"
            : "a filter redacts logs of this tag; see the logs"
        let hidden = redacts ? reason : nil
        let place =
            content == nil ? "it was refused before it was inflated" : "see the inflated body"
        let compressed = isCompressed ? "compressed; \(place)" : nil
        let part = { [logsHaveSecrets] (bytes: UnsafeRawBufferPointer, reason: String?) in
            CaptureRecord.Body(bytes, hides: reason, logsHaveSecrets: logsHaveSecrets)
        }
        self.body = part(body, hidden ?? compressed)
        inflated = isCompressed ? content.map { part($0, hidden) } : nil
    }

    /// What filters and routes made of the logs.
    func dispatched(_ groups: [LogGroup], _ dispatched: DispatchedLogs, _ plans: TagPlans?) {
        guard let trace else { return }
        accepted = CapturedLogs(groups, dispatched, trace, plans: plans, redacts: redacts)
        self.trace = nil
    }

    /// Asks the queue where it stores the batches, if a capture wants the accepted request.
    func track(_ batches: inout [Batch]) {
        guard wantsAccepted else { return }
        let track = BatchTrack()
        for index in batches.indices { batches[index].track = track }
        self.track = track
    }

    /// Adds the record to each capture that wants a request with this answer.
    func answered(_ response: Response, _ end: End) {
        let wanting = sessions.filter { session in
            let filter = session.filter
            // A request that is refused early has no text, and perhaps no key and tag.
            return filter.admits(status: response.status) && (known != .head || filter.text == nil)
                && filter.admits(key: request?.sender?.name)
                && (known == .logs || filter.admits(tags: tag.map { [$0] } ?? []))
        }
        guard !wanting.isEmpty else { return }
        let record = record(of: response, end)
        // A commit that failed may have given rows as well.
        let news = record.receipt == nil ? nil : track?.takeNews() ?? BatchTrack.News()
        for session in wanting { captures.keep(record, news, in: session) }
    }

    private func record(of response: Response, _ end: End) -> CaptureRecord {
        let sender = request?.sender
        let address = head.clientAddress(behind: proxies)
        return CaptureRecord(
            time: head.arrival,
            method: head.shownMethod,
            path: Mask.path(head.pathText, hidesLogs: redacts),
            query: head.query.map { Mask.query(head.bytes[$0], hidesLogs: redacts) },
            minorVersion: head.minorVersion,
            address: address?.description ?? head.peer.host,
            fields: Mask.fields(head, hidesLogs: redacts),
            key: sender?.name,
            rights: sender?.rights.destinations,
            tag: tag.map { Mask.hidingKnownSecrets(in: $0) },
            body: body,
            inflated: inflated,
            decisions: decisions(end),
            accepted: accepted,
            receipt: end.receipt,
            answer: CaptureRecord.Answer(
                status: response.status,
                fields: response.shownFields.map { name, value in
                    (name, Mask.field(name, Array(value.utf8)))
                },
                body: shownBody(of: response, end),
                time: Moment.now - start
            )
        )
    }

    /// An answer to accepted logs may repeat what a log has, as Elasticsearch does with ids. A
    /// refusal does not.
    private func shownBody(of response: Response, _ end: End) -> String {
        guard !response.body.isEmpty else { return "" }
        let isRefused = if case .refused = end { true } else { false }
        if redacts, !isRefused { return Mask.redacted(response.body) }
        let beginning = response.body.prefix(Self.answerBytesMax)
        // A refusal quotes texts whose ends are cut.
        let isCut = isRefused || beginning.count < response.body.count
        return String(
            decoding: Mask.hidingSecrets(in: Array(beginning), isCut: isCut),
            as: UTF8.self
        )
    }

    /// In the order in which they were made.
    private func decisions(_ end: End) -> [CaptureRecord.Decision] {
        var decisions: [CaptureRecord.Decision] = []
        let add = { (step: String, result: String, detail: String) in
            decisions.append(
                .init(
                    step: step,
                    outcome: result,
                    detail: clipped(Mask.hidingKnownSecrets(in: detail, isCut: true), to: 300)
                )
            )
        }
        if let request {
            add("route", request.dialect.label.name, request.target.place)
            add("key", request.sender?.name ?? "open", "")
        }
        if let accepted {
            let counts = accepted.counts
            add(
                "filters and routes",
                "\(accepted.copies) copies",
                "\(counts.filtered) filtered, \(counts.dropped) dropped by routes, \(counts.unrouted) unrouted"
            )
        }
        switch end {
        case .nothingToStore: add("queue", "nothing to store", "")
        case .stored(let receipt): add("queue", "stored", "receipt \(receipt)")
        case .repeated(let receipt): add("queue", "repeated", "receipt \(receipt)")
        case .refused(let refusal):
            // It quotes texts whose ends are cut.
            add("answer", refusal.code, Mask.hidingSecrets(in: refusal.reason, isCut: true))
        }
        return decisions
    }
}

extension Response {
    /// Its fields with those of the stamp, but for the times.
    fileprivate var shownFields: [(name: String, value: String)] {
        var fields = fields
        if let contentType { fields.insert(("content-type", contentType), at: 0) }
        if isForAnyPage {
            fields += [("access-control-allow-origin", "*"), ("vary", "Origin")]
        }
        if let receipt {
            fields.append(("x-log-requestid", String(decoding: receipt, as: UTF8.self)))
        }
        return fields
    }
}

extension RoutingTable.Target {
    fileprivate var place: String {
        isRouted ? "routes decide" : "\(destination)/\(logstore)"
    }
}

import Configuration
import Crypto
import HTTP
import Logs
import Net
import Queue
import Routing
import System

/// The record of a request that is under way. Dropped without a trace when no capture wants it after all.
final class CaptureDraft: Sendable {
    /// What is kept of an answer.
    private static let answerBytesMax = 4 << 10
    private static let logsMax = 100
    /// What is followed of the logs' way through filters.
    static let traceBytesMax = 256 << 10

    /// What the queue made of the logs.
    private enum Outcome {
        case nothingToStore
        case stored(receipt: [UInt8])
        case repeated(receipt: [UInt8])

        var receipt: [UInt8]? {
            switch self {
            case .nothingToStore: nil
            case .stored(let receipt), .repeated(let receipt): receipt
            }
        }
    }

    /// What a request's head asks for.
    struct Request {
        let label: DeviceLabel
        let target: RoutingTable.Target
        let sender: DeviceSender?
        /// nil: only the body may tell it.
        let tag: String?
    }

    /// Most requests that are looked at are dropped, so nothing becomes text before `answered` keeps the record.
    private struct State {
        var sessions: [CaptureSession]
        /// nil: it was refused before its target was known.
        var request: Request?
        /// The body was read as far as a text in it can be found.
        var isRead = false
        /// A filter redacts logs like these, so nothing that shows them as they came is kept.
        var redacts = false
        var tag: String?
        var body: CaptureRecord.Body?
        var inflated: CaptureRecord.Body?
        /// Copies of the logs after filters and routes, and what those took away.
        var dispatched: (copies: Int, counts: DispatchedLogs.Counts)?
        var logs: [CaptureRecord.Log] = []
        var groups: [CaptureRecord.Group?] = []
        var logCount = 0
        var droppedCount = 0
        var batches: [CaptureRecord.Batch] = []
        /// nil: refused.
        var outcome: Outcome?
        /// A capture wants the request when its logs are accepted.
        var followsAccepted = false
        /// Learn where the batches are stored.
        var tracks: [BatchTrack] = []

        mutating func look(at content: UnsafeRawBufferPointer) {
            isRead = true
            sessions.removeAll { $0.text.map { !content.contains($0) } ?? false }
        }
    }

    private let captures: Captures
    private let head: RequestHead
    private let proxies: [AddressRange]
    private let start: Moment
    private let state: Locked<State>

    /// nil: no capture wants it.
    init?(_ head: RequestHead, _ captures: Captures, _ proxies: [AddressRange]) {
        start = .now
        let sessions = captures.wanting(head, behind: proxies, at: start)
        guard !sessions.isEmpty else { return nil }
        self.captures = captures
        self.head = head
        self.proxies = proxies
        state = Locked(State(sessions: sessions))
    }

    // MARK: - Who wants it

    /// False: no capture wants it.
    func admitted(_ request: Request, _ plans: TagPlans?) -> Bool {
        let tag = request.tag
        return state.withLock { state in
            // A tag that only the body tells is known when that is read.
            state.sessions.removeAll {
                !$0.filter.admits(key: request.sender?.name)
                    || tag != nil && !$0.filter.admits(tag: tag)
            }
            guard !state.sessions.isEmpty else { return false }
            (state.request, state.tag) = (request, tag)
            state.redacts =
                tag.map { plans?.redacts($0) ?? false } ?? plans?.router.rules.redacts ?? false
            return true
        }
    }

    /// Logs that could be read. False: no capture wants them.
    func read(
        _ groups: [LogGroup],
        from content: UnsafeRawBufferPointer,
        _ plans: TagPlans?
    ) -> Bool {
        state.withLock { state in
            // The tag first: to look for a text takes time.
            state.sessions.removeAll { session in
                guard let pattern = session.filter.tag else { return false }
                return !groups.contains { pattern.match($0.tag) != nil }
            }
            state.look(at: content)
            state.followsAccepted = state.sessions.contains(where: \.filter.admitsAccepted)
            guard state.followsAccepted else { return !state.sessions.isEmpty }
            state.tag = state.tag ?? groups.first?.tag
            let redacts = groups.contains { plans?.redacts($0.tag) ?? false }
            state.redacts = state.redacts || redacts
            return true
        }
    }

    /// True if a capture wants the logs when they are accepted; only then their way is followed.
    var followsAccepted: Bool { state.withLock(\.followsAccepted) }

    /// Content that could not be read, inflated where the body was compressed.
    func look(at content: UnsafeRawBufferPointer) { state.withLock { $0.look(at: content) } }

    private var isWanted: Bool { state.withLock { !$0.sessions.isEmpty } }

    // MARK: - What is kept

    /// Keeps the body, once. `content` is the inflated body, where it could be inflated.
    func keep(
        _ body: UnsafeRawBufferPointer,
        _ content: UnsafeRawBufferPointer?,
        isCompressed: Bool
    ) {
        guard isWanted, state.withLock({ $0.body == nil }) else { return }
        let redacts = state.withLock(\.redacts)
        let hidden = redacts ? "a filter redacts logs of this tag; see the logs" : nil
        let compressed = isCompressed ? "compressed; see the inflated body" : nil
        let raw = CaptureRecord.Body(body, hides: hidden ?? compressed)
        let inflated = isCompressed ? content.map { CaptureRecord.Body($0, hides: hidden) } : nil
        state.withLock { ($0.body, $0.inflated) = (raw, inflated) }
    }

    /// What filters and routes made of the logs.
    func dispatched(
        _ groups: [LogGroup],
        _ dispatched: DispatchedLogs,
        _ trace: FilterTrace,
        _ plans: TagPlans?
    ) {
        let redacts = state.withLock(\.redacts)
        var logs: [CaptureRecord.Log] = []
        var traced = 0
        for (number, group) in groups.enumerated() where logs.count < Self.logsMax {
            let plan = plans?.plan(for: group.tag)
            let hasFilters = plan.map { !$0.filters.isEmpty } ?? false
            let sound = group.logs.sound.entries.map { ($0, false) }
            let faulty = group.logs.faulty.flatMap { faulty in
                faulty.logs.entries.map { ($0, faulty.fault.isUnreadable) }
            }
            for (entry, isUnreadable) in sound + faulty {
                defer { if hasFilters { traced += 1 } }
                guard logs.count < Self.logsMax else { break }
                let log =
                    hasFilters && trace.logs.indices.contains(traced) ? trace.logs[traced] : nil
                logs.append(
                    CaptureRecord.Log(
                        entry,
                        isUnreadable: isUnreadable,
                        trace: log,
                        tag: log?.tag ?? group.tag,
                        redacts: redacts,
                        group: group,
                        groupIndex: number,
                        plans: plans
                    )
                )
            }
        }
        let named = groups.prefix(logs.last.map { $0.group + 1 } ?? 0)
        let kept = named.map { redacts ? nil : CaptureRecord.Group($0) }
        let copies = dispatched.parts.reduce(0) { $0 + $1.logs.count }
        state.withLock { state in
            state.dispatched = (copies, dispatched.counts)
            (state.logs, state.groups) = (logs, kept)
            state.logCount = groups.reduce(0) { $0 + $1.logs.count }
            state.droppedCount = groups.reduce(0) { $0 + $1.logs.dropped }
            state.batches = dispatched.parts.map { part in
                CaptureRecord.Batch(
                    destination: part.target.destination,
                    logstore: part.target.logstore,
                    topic: part.trailer.topic,
                    logs: part.logs.count,
                    bytes: part.logs.bytes
                )
            }
        }
    }

    /// Has the queue tell where it stores the batches, if a capture wants the request when it is accepted.
    func track(_ batches: inout [Batch]) {
        guard state.withLock({ $0.followsAccepted && !$0.sessions.isEmpty }) else { return }
        let tracks = batches.map { _ in BatchTrack() }
        for index in batches.indices { batches[index].track = tracks[index] }
        state.withLock { $0.tracks = tracks }
    }

    /// The queue's outcome, before the answer.
    func stored(_ receipt: [UInt8], isRepeated: Bool) {
        state.withLock {
            $0.outcome = isRepeated ? .repeated(receipt: receipt) : .stored(receipt: receipt)
        }
    }

    /// Filters and routes left nothing.
    func storedNothing() { state.withLock { $0.outcome = .nothingToStore } }

    /// The request is answered. Whoever still wants it keeps the record.
    func answered(_ response: Response, _ refusal: Refusal? = nil) {
        let sessions = state.withLock { state in
            // Of a request that was refused early, not all that a filter asks for is known.
            state.sessions.removeAll { session in
                let filter = session.filter
                return !filter.admits(status: response.status)
                    || !state.isRead && filter.text != nil
                    || !filter.admits(key: state.request?.sender?.name)
                    || !filter.admits(tag: state.tag)
            }
            return state.sessions
        }
        guard !sessions.isEmpty else { return }
        let record = record(of: response, refusal)
        let tracks = state.withLock { state in
            defer { (state.sessions, state.tracks) = ([], []) }
            return state.tracks
        }
        // A commit that failed may have given rows as well.
        let isStored = record.receipt != nil
        let news = isStored ? tracks.reduce(into: BatchTrack.News()) { $0 += $1.takeNews() } : nil
        for session in sessions { captures.keep(record, news, in: session) }
    }

    private func record(of response: Response, _ refusal: Refusal?) -> CaptureRecord {
        let state = state.withLock { $0 }
        let sender = state.request?.sender
        let address = head.clientAddress(behind: proxies)
        return CaptureRecord(
            time: head.arrival,
            method: head.methodText,
            path: head.pathText,
            query: head.query.map { Mask.query(head.bytes[$0], hidesAll: state.redacts) },
            minorVersion: head.minorVersion,
            address: address?.description ?? head.peer.host,
            fields: Mask.fields(head),
            key: sender?.name,
            rights: sender?.rights.destinations,
            tag: state.tag,
            body: state.body,
            inflated: state.inflated,
            decisions: Self.decisions(of: state, refusal),
            logs: state.logs,
            logCount: state.logCount,
            droppedCount: state.droppedCount,
            groups: state.groups,
            batches: state.batches,
            receipt: (state.outcome?.receipt).map { String(decoding: $0, as: UTF8.self) },
            answer: CaptureRecord.Answer(
                status: response.status,
                fields: response.fields.map { name, value in
                    (name, SecretNames.contains(name) ? Mask.text(Array(value.utf8)) : value)
                },
                body: String(decoding: response.body.prefix(Self.answerBytesMax), as: UTF8.self),
                time: Moment.now - start
            )
        )
    }

    /// In the order in which they were made.
    private static func decisions(
        of state: State,
        _ refusal: Refusal?
    ) -> [CaptureRecord.Decision] {
        var decisions: [CaptureRecord.Decision] = []
        let add = { (step: String, outcome: String, detail: String) in
            decisions.append(.init(step: step, outcome: outcome, detail: clipped(detail, to: 300)))
        }
        if let request = state.request {
            add("route", request.label.name, request.target.place)
            add("key", request.sender?.name ?? "open", "")
        }
        if let (copies, counts) = state.dispatched {
            add(
                "filters and routes",
                "\(copies) copies",
                "\(counts.filtered) filtered, \(counts.dropped) dropped by routes, \(counts.unrouted) unrouted"
            )
        }
        switch state.outcome {
        case .nothingToStore: add("queue", "nothing to store", "")
        case .stored(let receipt):
            add("queue", "stored", "receipt \(String(decoding: receipt, as: UTF8.self))")
        case .repeated(let receipt):
            add("queue", "repeated", "receipt \(String(decoding: receipt, as: UTF8.self))")
        case nil: break
        }
        if let refusal { add("answer", refusal.code, refusal.reason) }
        return decisions
    }
}

extension TagPlans {
    /// Whether a filter redacts something of logs with this tag, or of the tag that a filter gives them.
    fileprivate func redacts(_ tag: String) -> Bool {
        let filters = plan(for: tag).filters.map { router.rules.filters[$0.index] }
        return filters.contains(where: \.redacts)
            || filters.contains(where: \.retags) && router.rules.redacts
    }
}

extension RoutingRules {
    fileprivate var redacts: Bool { filters.contains(where: \.redacts) }
}

extension Filter {
    fileprivate var redacts: Bool {
        steps.contains { if case .redact = $0.action { true } else { false } }
    }

    fileprivate var retags: Bool {
        steps.contains { if case .tag = $0.action { true } else { false } }
    }
}

extension LogFault {
    fileprivate var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
}

extension RoutingTable.Target {
    fileprivate var place: String {
        isRouted ? "routes decide" : "\(destination)/\(logstore)"
    }
}

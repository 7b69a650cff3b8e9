import Configuration
import Crypto
import Glibc
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

    fileprivate struct State {
        var sessions: [CaptureSession]
        /// The body was read as far as a text in it can be found.
        var isRead = false
        /// A filter redacts logs like these, so nothing that shows them as they came is kept.
        var redacts = false
        var key: String?
        var rights: Set<String>?
        var tag: String?
        var body: CaptureRecord.Body?
        var inflated: CaptureRecord.Body?
        var decisions: [CaptureRecord.Decision] = []
        var logs: [CaptureRecord.Log] = []
        var groups: [CaptureRecord.Group?] = []
        var logCount = 0
        var droppedCount = 0
        var batches: [CaptureRecord.Batch] = []
        var receipt: String?
        /// A capture wants the request when its logs are accepted.
        var followsAccepted = false
        /// Learn where the batches are stored.
        var tracks: [BatchTrack] = []
    }

    private let captures: Captures
    private let head: RequestHead
    private let address: IPAddress?
    private let start = Moment.now
    private let state: Locked<State>

    /// nil: no capture wants it.
    init?(_ head: RequestHead, _ captures: Captures, _ proxies: [AddressRange]) {
        let address = head.clientAddress(behind: proxies)
        let sessions = captures.wanting(head, from: address)
        guard !sessions.isEmpty else { return nil }
        self.captures = captures
        self.head = head
        self.address = address
        state = Locked(State(sessions: sessions))
    }

    // MARK: - Who wants it

    /// The request has a sender, and perhaps a tag.
    func admitted(_ sender: DeviceSender?, tag: String?, _ plans: TagPlans?) {
        let key = sender?.name
        state.withLock { state in
            // A tag that only the body tells is known when that is read.
            state.sessions.removeAll {
                !$0.filter.admits(key: key) || tag != nil && !$0.filter.admits(tag: tag)
            }
            guard !state.sessions.isEmpty else { return }
            (state.key, state.tag) = (key, tag)
            state.rights = sender?.rights.destinations
            state.redacts =
                tag.map { plans?.redacts($0) ?? false } ?? plans?.router.rules.redacts ?? false
        }
    }

    /// The content, inflated where the body was compressed.
    func look(at content: UnsafeRawBufferPointer) {
        state.withLock { state in
            state.isRead = true
            state.sessions.removeAll { session in
                session.filter.text.map { !content.contains(text: $0) } ?? false
            }
        }
    }

    /// True if a capture wants these logs when they are accepted; only then their way is followed.
    func follows(_ groups: [LogGroup], _ plans: TagPlans?) -> Bool {
        state.withLock { state in
            state.sessions.removeAll { session in
                guard let pattern = session.filter.tag else { return false }
                return !groups.contains { pattern.match($0.tag) != nil }
            }
            state.followsAccepted = state.sessions.contains(where: \.filter.admitsAccepted)
            guard state.followsAccepted else { return false }
            state.tag = state.tag ?? groups.first?.tag
            let redacts = groups.contains { plans?.redacts($0.tag) ?? false }
            state.redacts = state.redacts || redacts
            return true
        }
    }

    private var isWanted: Bool { state.withLock { !$0.sessions.isEmpty } }

    // MARK: - What is kept

    func decide(_ step: String, _ outcome: String, _ detail: String = "") {
        guard isWanted else { return }
        state.withLock { state in
            let detail = clipped(detail, to: 300)
            state.decisions.append(.init(step: step, outcome: outcome, detail: detail))
        }
    }

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
        state.withLock { state in
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
        let counts = dispatched.counts
        decide(
            "filters and routes",
            "\(dispatched.parts.reduce(0) { $0 + $1.logs.count }) copies",
            "\(counts.filtered) filtered, \(counts.dropped) dropped by routes, \(counts.unrouted) unrouted"
        )
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
        guard isWanted else { return }
        let receipt = String(decoding: receipt, as: UTF8.self)
        state.withLock { $0.receipt = receipt }
        decide("queue", isRepeated ? "repeated" : "stored", "receipt \(receipt)")
    }

    /// The request is answered. Whoever still wants it keeps the record.
    func answered(_ response: Response, _ refusal: Refusal? = nil) {
        let sessions = state.withLock { state in
            // Of a request that was refused early, not all that a filter asks for is known.
            state.sessions.removeAll { session in
                let filter = session.filter
                return !filter.admits(status: response.status)
                    || !state.isRead && filter.text != nil || !filter.admits(key: state.key)
                    || !filter.admits(tag: state.tag)
            }
            return state.sessions
        }
        guard !sessions.isEmpty else { return }
        if let refusal { decide("answer", refusal.code, refusal.reason) }
        let record = record(of: response)
        let (tracks, isStored) = state.withLock { state in
            defer { (state.sessions, state.tracks) = ([], []) }
            return (state.tracks, state.receipt != nil)
        }
        // A commit that failed may have given rows as well.
        let news = isStored ? tracks.reduce(into: BatchTrack.News()) { $0 += $1.takeNews() } : nil
        for session in sessions { captures.keep(record, news, in: session) }
    }

    private func record(of response: Response) -> CaptureRecord {
        let state = state.withLock { $0 }
        return CaptureRecord(
            time: head.arrival,
            method: head.methodText,
            path: head.pathText,
            query: head.query.map { Mask.query(head.bytes[$0], hidesAll: state.redacts) },
            minorVersion: head.minorVersion,
            address: address?.description ?? head.peer.host,
            fields: Mask.fields(head),
            key: state.key,
            rights: state.rights,
            tag: state.tag,
            body: state.body,
            inflated: state.inflated,
            decisions: state.decisions,
            logs: state.logs,
            logCount: state.logCount,
            droppedCount: state.droppedCount,
            groups: state.groups,
            batches: state.batches,
            receipt: state.receipt,
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

extension UnsafeRawBufferPointer {
    fileprivate func contains(text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard let first = wanted.first else { return true }
        var place = 0
        while place + wanted.count <= count {
            guard let start = baseAddress,
                let found = memchr(start + place, CInt(first), count - place - wanted.count + 1)
            else { return false }
            place = UnsafeRawPointer(found) - start
            if self[place..<place + wanted.count].elementsEqual(wanted) { return true }
            place += 1
        }
        return false
    }
}

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
    /// What is kept of a body and of an answer.
    static let bodyBytesMax = 64 << 10
    private static let answerBytesMax = 4 << 10
    private static let logsMax = 20
    /// What is followed of the logs' way through filters.
    static let traceBytesMax = 256 << 10
    /// What a field of a log may have.
    private static let valueBytesMax = 8 << 10

    fileprivate struct State {
        var sessions: [CaptureSession]
        /// The body was read as far as a text in it can be found.
        var isRead = false
        /// A filter redacts logs like these, so nothing that shows them as they came is kept.
        var redacts = false
        var key: String?
        var tag: String?
        var body: CaptureRecord.Body?
        var inflated: CaptureRecord.Body?
        var decisions: [CaptureRecord.Decision] = []
        var logs: [CaptureRecord.Log] = []
        var logCount = 0
        var batches: [CaptureRecord.Batch] = []
        var receipt: String?
        /// By destination.
        var tracks: [(destination: String, track: BatchTrack)] = []
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
    func admitted(key: String?, tag: String?, _ plans: TagPlans?) {
        state.withLock { state in
            // A tag that only the body tells is known when that is read.
            state.sessions.removeAll {
                !$0.filter.admits(key: key) || tag != nil && !$0.filter.admits(tag: tag)
            }
            guard !state.sessions.isEmpty else { return }
            (state.key, state.tag) = (key, tag)
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
            let isWanted = state.sessions.contains { $0.filter.admits(status: 200) }
            guard isWanted else { return false }
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
        let raw = self.body(body, hides: isCompressed ? "compressed; see the inflated body" : nil)
        let inflated = isCompressed ? content.map { self.body($0, hides: nil) } : nil
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
        for group in groups {
            let plan = plans?.plan(for: group.tag)
            let hasFilters = plan.map { !$0.filters.isEmpty } ?? false
            let all = [group.logs.sound] + group.logs.faulty.map(\.logs)
            for entry in all.flatMap(\.entryFields) {
                defer { if hasFilters { traced += 1 } }
                guard logs.count < Self.logsMax else { continue }
                let log =
                    hasFilters && trace.logs.indices.contains(traced) ? trace.logs[traced] : nil
                logs.append(
                    Self.log(entry, log, tag: log?.tag ?? group.tag, redacts, group, plans)
                )
            }
        }
        state.withLock { state in
            state.logs = logs
            state.logCount = groups.reduce(0) { $0 + $1.logs.count }
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

    private static func log(
        _ entry: CaptureRecord.Fields,
        _ trace: FilterTrace.Log?,
        tag: String,
        _ redacts: Bool,
        _ group: LogGroup,
        _ plans: TagPlans?
    ) -> CaptureRecord.Log {
        let destinations =
            group.target.isRouted
            ? plans?.plan(for: tag).destinations ?? [] : [group.target.destination]
        var reason: String?
        var after: CaptureRecord.Fields? = entry
        if let trace {
            after = trace.fields.map { [entry[0]] + $0 }
            switch trace.end {
            case .kept: break
            case .droppedBy(let filter):
                after = nil
                reason = "dropped by filters[\(filter)]"
            case .deadLetter(let fault): reason = "dead letter: \(fault.code): \(fault.message)"
            }
        }
        return CaptureRecord.Log(
            before: redacts ? nil : masked(entry),
            after: after.map(masked),
            tag: tag,
            destinations: after == nil ? [] : destinations,
            reason: reason
        )
    }

    private static func masked(_ fields: CaptureRecord.Fields) -> CaptureRecord.Fields {
        fields.map { name, value in
            if SecretNames.contains(name) { return (name, Mask.text(Array(value.utf8))) }
            let bytes = Array(value.utf8.prefix(valueBytesMax))
            let text = String(decoding: Mask.text(in: bytes), as: UTF8.self)
            let cut = value.utf8.count - bytes.count
            return (name, cut > 0 ? text + "… (\(cut) more bytes)" : text)
        }
    }

    /// Follows the batches on their way to their destinations, if a capture wants the request.
    func track(_ batches: inout [Batch]) {
        guard isWanted else { return }
        var tracks: [(destination: String, track: BatchTrack)] = []
        for index in batches.indices where batches[index].logs.count > 0 {
            let track = BatchTrack()
            batches[index].track = track
            tracks.append((batches[index].stream.destination, track))
        }
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
        var record = record(of: response)
        let places = state.withLock { state in
            state.sessions = []
            // A commit that failed may have given rows as well.
            return state.receipt == nil
                ? []
                : state.tracks.flatMap { destination, track in
                    track.places.map { FollowedRequest.Place(destination: destination, place: $0) }
                }
        }
        record.isOnItsWay = !places.isEmpty
        for session in sessions {
            guard let number = session.keep(record) else { continue }
            captures.follow(number, of: session, places)
            captures.countCaptured()
        }
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
            tag: state.tag,
            body: state.body,
            inflated: state.inflated,
            decisions: state.decisions,
            logs: state.logs,
            logCount: state.logCount,
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

    /// Text, masked. The beginning alone where it is long, which is cut before it is masked: a secret's beginning is
    /// masked too.
    private func body(
        _ bytes: UnsafeRawBufferPointer,
        hides reason: String?
    ) -> CaptureRecord.Body {
        let hash = hex(Digest.sha256(bytes))
        func hidden(_ reason: String) -> CaptureRecord.Body {
            .init(bytes: bytes.count, sha256: hash, text: nil, isCut: false, reason: reason)
        }
        if let reason { return hidden(reason) }
        if state.withLock(\.redacts) { return hidden(CaptureRecord.redactedReason) }
        var beginning = Array(bytes.prefix(Self.bodyBytesMax))
        let isCut = beginning.count < bytes.count
        // A character may be cut in two.
        while isCut, let last = beginning.last, last & 0xc0 == 0x80 || last >= 0xc0 {
            beginning.removeLast()
        }
        guard String(validating: beginning, as: UTF8.self) != nil else {
            return hidden("not text, so secrets in it cannot be found; see the logs")
        }
        let masked = Mask.text(in: beginning)
        return CaptureRecord.Body(
            bytes: bytes.count,
            sha256: hash,
            text: String(decoding: masked, as: UTF8.self),
            isCut: isCut,
            reason: masked == beginning ? nil : "secrets are masked"
        )
    }
}

extension CaptureRecord {
    fileprivate static let redactedReason = "a filter redacts logs of this tag; see the logs"
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

extension EncodedLogs {
    /// The time and the fields of each log.
    fileprivate var entryFields: [CaptureRecord.Fields] {
        bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var all: [CaptureRecord.Fields] = []
            while let range = try? entries.next() {
                let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard let entry = try? LogEntry(log) else { continue }
                let time = [(name: "__time__", value: "\(entry.time.seconds)")]
                all.append(time + entry.fields.map { (name: $0.key, value: $0.value) })
            }
            return all
        }
    }
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

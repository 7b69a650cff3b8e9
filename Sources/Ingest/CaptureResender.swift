package import Configuration
package import HTTP
import JSON
import Logs
import Net
import Queue
import Routing
import System

/// Sends the logs of a captured request again, as a request of its own: through the present filters
/// and routes into the queue, with a new receipt. A tag tells them from what the device sent.
///
/// The gateway sends the logs, not the request: keys, signatures and budgets of the device are not
/// used again.
package struct CaptureResender: Sendable {
    /// The tag's value is the capture's id, so that its requests share streams.
    package static let mark = "sluice_replay"

    package struct Outcome: Sendable {
        package let receipt: String
        package let logs: Int
        /// Logs that were dropped as they came, or were unreadable; dead letters have replays of
        /// their own.
        package let leftOut: Int
        package let filtered: Int
        /// Dropped by routes.
        package let dropped: Int
        /// Logs in the queue: one for two destinations counts twice.
        package let copies: Int
    }

    /// Never reached: a record is smaller.
    private let stampedBytesMax = 64 << 20
    private let shared: DeviceHandler.Shared
    private let senders: [(name: String, rules: SenderRules)]

    package init(_ shared: DeviceHandler.Shared, _ devices: DeviceSettings) {
        self.shared = shared
        senders = devices.senders
    }

    /// Calls back on the queue's thread when the logs are durable or refused.
    package func send(
        _ record: CaptureRecord,
        of capture: String,
        whenDurable answer: @escaping @Sendable (Result<Outcome, HTTPProblem>) -> Void
    ) throws(HTTPProblem) {
        if let reason = record.reasonNotToResend { throw .cannotReplay(reason) }
        let rights = try rights(of: record)
        let receipt = shared.mint.next()
        let logs = record.logs.count { $0.extent != .unreadable }
        var dispatched: DispatchedLogs
        var batches: [Batch] = []
        do throws(Refusal) {
            dispatched = try dispatch(record, rights, receipt)
            for part in dispatched.parts { try rights.check(part.target.destination) }
            let facts = SenderFacts(address: record.address, key: record.key, receipt: receipt)
            _ = facts.stamp(&dispatched.parts, atMost: stampedBytesMax)
            mark(&dispatched.parts, capture)
            for part in dispatched.parts { batches.append(try part.batch()) }
        } catch {
            throw error.problem
        }
        batches.removeAll { $0.allLogs == 0 }
        let outcome = Outcome(
            receipt: String(decoding: receipt, as: UTF8.self),
            logs: logs,
            leftOut: record.logCount - logs,
            filtered: dispatched.counts.filtered,
            dropped: dispatched.counts.dropped,
            copies: batches.reduce(0) { $0 + $1.allLogs }
        )
        let (intake, counters, counts) = (shared.intake, shared.counters, dispatched.counts)
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batches) : nil }
        let tally = dispatched.tally(of: logs, batches)
        guard intake.enter() else { throw Refusal.draining.problem }
        guard !batches.isEmpty else {
            shared.queue.count(tally)
            counters.countRouted(counts)
            intake.leave()
            return answer(.success(outcome))
        }
        // Without an identity, since a repetition is what is asked for, and without a sender, whose
        // share of streams an operator does not use up.
        shared.queue.append(batches, identity: nil, sender: nil, tally: tally) { stored in
            defer { intake.leave() }
            if case .refused(let admission) = stored {
                return answer(.failure(Refusal(admission).problem))
            }
            if let (tail, batches) = shown { for batch in batches { tail.show(batch) } }
            counters.countRouted(counts)
            answer(.success(outcome))
        }
    }

    /// The rights that the sender had, as far as its key still has them.
    private func rights(of record: CaptureRecord) throws(HTTPProblem) -> SenderRights {
        guard let name = record.key else { return SenderRights(destinations: nil) }
        guard let known = senders.first(where: { $0.name == name }) else {
            throw .keyIsGone(name)
        }
        return SenderRights(destinations: known.rules.destinations).limited(to: record.rights)
    }

    // MARK: - The logs' way

    private func dispatch(
        _ record: CaptureRecord,
        _ rights: SenderRights,
        _ receipt: [UInt8]
    ) throws(Refusal) -> DispatchedLogs {
        let table = shared.routes.value
        let decoder = BodyDecoder(shared.limits)
        let groups = try groups(of: record, table, decoder)
        let dispatch = LogDispatch(shared.limits.json, shared.filters)
        let bytes = groups.reduce(0) { $0 + $1.logs.bytes }
        return try dispatch.dispatch(
            groups,
            DispatchRequest(
                table: table,
                allows: rights.allows,
                checkRight: rights.check,
                sender: SenderText(
                    clientIP: record.address,
                    key: record.key ?? "",
                    receipt: String(decoding: receipt, as: UTF8.self),
                    part: { AskedRequest(record).text(of: $0) }
                ),
                repeatedBytesMax: decoder.limit.repeating(for: bytes),
                retarget: { tag throws(Refusal) in try table.target(of: record, .tag(tag)) },
                applyRules: { [shared] logs, target throws(Refusal) in
                    try decoder.decode(logs, shared.timing(target), target.rules)
                }
            )
        )
    }

    /// The logs in the groups in which they came.
    private func groups(
        of record: CaptureRecord,
        _ table: RoutingTable,
        _ decoder: BodyDecoder
    ) throws(Refusal) -> [LogGroup] {
        var groups: [LogGroup] = []
        for (number, group) in record.groups.enumerated() {
            guard let group else { continue }
            var logs = EncodedLogs()
            for log in record.logs where log.group == number && log.extent == .whole {
                // The first member is the time.
                let fields = (log.before ?? []).dropFirst().map { (key: $0.name, value: $0.value) }
                logs.append(time: log.time, named: fields)
            }
            guard logs.count > 0 else { continue }
            let target = try table.target(of: record, group.address)
            let rules = table.rules(for: target)
            let decoded = try decoder.decode(logs, shared.timing(target), rules)
            groups.append(group.group(decoded, target))
        }
        return groups
    }

    private func mark(_ parts: inout [TakenPart], _ value: String) {
        for index in parts.indices {
            let trailer = parts[index].trailer
            parts[index].trailer =
                trailer.replacingTags(named: [Array(Self.mark.utf8)], with: [(Self.mark, value)])
                .trailer
        }
    }
}

extension CaptureRecord {
    fileprivate static let areRedacted =
        "a filter redacts logs of this tag, so they are not kept as they came"

    fileprivate var noLogs: String {
        "record \(number) has no logs; it was refused before they were read"
    }

    /// Why the logs cannot be sent as they came; nil: they can.
    fileprivate var reasonNotToResend: String? {
        guard !logs.isEmpty else { return noLogs }
        guard logs.count + (accepted?.droppedCount ?? 0) == logCount else {
            return "only the first \(logs.count) of its \(logCount) logs are kept"
        }
        for (index, log) in logs.enumerated() {
            let which = "log \(index + 1)"
            guard log.before != nil else { return Self.areRedacted }
            switch log.extent {
            case .masked: return "\(which) has masked secrets, which would be stored as masks"
            case .cut: return "\(which) has a long value; only its beginning is kept"
            case .whole where groups[log.group] == nil:
                return "\(which) has a secret in its topic, source or tags, which is not kept"
            case .whole, .unreadable: continue
            }
        }
        return logs.contains { $0.extent == .whole }
            ? nil : "none of its logs could be read; replay their dead letters"
    }
}

extension RouteQuestion {
    /// What filters and routes would do with the request. It takes the same way as logs that are
    /// sent again.
    package init(of record: CaptureRecord, _ devices: DeviceSettings) throws(HTTPProblem) {
        guard !record.logs.isEmpty else { throw .cannotReplay(record.noLogs) }
        let before = record.logs.compactMap(\.before)
        guard before.count == record.logs.count else {
            throw .cannotReplay(CaptureRecord.areRedacted)
        }
        guard let tag = record.tag ?? record.logs.first?.tag else {
            throw .cannotReplay("its tag is not known")
        }
        self.init(known: tag)
        logs = before.map { fields in
            var json = JSONWriter()
            json.object { json in for field in fields { json.member(field.name, field.value) } }
            return json.bytes
        }
        labels = record.logs.map { record.groups[$0.group] }
        (host, project) = (record.field("host"), record.field("x-log-project"))
        (clientIP, receipt) = (record.address, record.receipt ?? "")
        request = AskedRequest(record)
        guard let name = record.key else { return }
        guard devices.senders.contains(where: { $0.name == name }) else { throw .keyIsGone(name) }
        (key, rights) = (name, record.rights)
    }
}

extension HTTPProblem {
    fileprivate static func cannotReplay(_ reason: String) -> HTTPProblem {
        HTTPProblem(409, "ReplayImpossible", reason)
    }

    fileprivate static func keyIsGone(_ name: String) -> HTTPProblem {
        cannotReplay(
            "the key \(clipped(name)) is no longer in the configuration, so its rights are not known"
        )
    }
}

extension RoutingTable {
    /// The target that this request would get today.
    fileprivate func target(
        of record: CaptureRecord,
        _ address: LogAddress
    ) throws(Refusal) -> Target {
        try target(host: record.field("host"), project: record.field("x-log-project"), address)
    }
}

extension DeviceHandler.Shared {
    /// The time of logs that bring none.
    func timing(_ target: RoutingTable.Target, _ arrival: WallTime = .now) -> BatchTiming {
        BatchTiming(arrival: arrival, offset: clockOffset(target.destination))
    }
}

extension BodyDecoder {
    /// Applies a destination's rules to logs that were decoded without them.
    func decode(
        _ logs: EncodedLogs,
        _ timing: BatchTiming,
        _ rules: LogRules
    ) throws(Refusal) -> DecodedLogs {
        try Refusal.decoding(try putLogs.decode(logs, timing, rules))
    }
}

extension AskedRequest {
    fileprivate init(_ record: CaptureRecord) {
        self.init(method: record.method, path: record.path, query: record.query) {
            record.field($0)
        }
    }
}

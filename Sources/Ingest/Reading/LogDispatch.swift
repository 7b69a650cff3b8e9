import Configuration
import Logs
import Queue
import Routing
import System

/// A thread's way from groups of logs to parts: filters change the logs, and routes choose their
/// destinations.
final class LogDispatch {
    private struct Machine {
        let router: Router
        let plans: TagPlans
        let filter: LogFilter
    }

    private let limits: LogLimits
    private let counters: FilterCounters
    /// nil: there are neither filters nor routes.
    private var machine: Machine?

    init(_ limits: LogLimits, _ counters: FilterCounters) {
        self.limits = limits
        self.counters = counters
    }

    /// The plans of a table's tags; nil when it has neither filters nor routes. A reload makes a
    /// new router, and what belongs to the old one is forgotten.
    func plans(_ table: RoutingTable) -> TagPlans? { machine(table)?.plans }

    private func machine(_ table: RoutingTable) -> Machine? {
        guard let router = table.router else {
            machine = nil
            return nil
        }
        if let machine, machine.router === router { return machine }
        let plans = TagPlans(router)
        let filter = LogFilter(router, plans, limits: limits, counters: counters)
        machine = Machine(router: router, plans: plans, filter: filter)
        return machine
    }

    /// The parts of a request that nothing filters or routes.
    func parts(of groups: [LogGroup], repeatedBytesMax: Int) -> DispatchedLogs {
        DispatchedLogs(JoinedParts(groups, limits, repeatedBytesMax: repeatedBytesMax).parts)
    }

    /// The parts of a request behind filters and routes.
    func dispatch(
        _ groups: [LogGroup],
        _ request: DispatchRequest
    ) throws(Refusal) -> DispatchedLogs {
        guard let machine = machine(request.table) else {
            return parts(of: groups, repeatedBytesMax: request.repeatedBytesMax)
        }
        var fanOut = FanOut(request, limits)
        let logBytes = groups.reduce(0) { $0 + $1.logs.bytes }
        machine.filter.begin(request.sender, logBytes: logBytes)
        for (number, group) in groups.enumerated() {
            fanOut.groupNumber = number
            let plan = machine.plans.plan(for: group.tag)
            guard !plan.filters.isEmpty else {
                try fanOut.add(group, plan)
                continue
            }
            do throws(LogDecodingError) {
                let shared = try machine.filter.redacted(group, plan)
                let left = try filtered(group.logs, plan, counting: &fanOut.counts, request.trace)
                for (newPlan, labels, logs) in left.all {
                    var part = shared
                    if newPlan !== plan || labels != .none {
                        // The new tag may become the topic, which the filters of both tags cover.
                        part = group
                        if newPlan !== plan { part.follow(newPlan.tag) }
                        part.take(labels)
                        part = try machine.filter.redacted(part, plan)
                        if newPlan !== plan {
                            part = try machine.filter.redacted(part, newPlan, after: plan)
                        }
                    }
                    part.tracked.logs = logs
                    part.isRetimed = left.areRetimed
                    fanOut.waiting.append((part, newPlan))
                }
            } catch {
                throw .encodedWrongly
            }
            try fanOut.addWaiting()
        }
        return fanOut.dispatched
    }

    /// The logs that filters leave, by their tags. Faulty logs stay faulty, and are filtered too:
    /// they are stored as dead letters.
    private func filtered(
        _ logs: DecodedLogs,
        _ plan: TagPlan,
        counting counts: inout DispatchedLogs.Counts,
        _ trace: FilterTrace?
    ) throws(LogDecodingError) -> LogsByTag {
        var left = LogsByTag()
        guard let filter = machine?.filter else { return left }
        let sound = try filter.apply(to: logs.sound, plan, trace: trace)
        left.areRetimed = sound.areRetimed
        for group in sound.groups { left.add(group.logs, group.plan, group.labels) }
        for dead in sound.dead { left[dead.plan, dead.labels].faulty.append(dead.logs) }
        counts.add(sound)
        for faulty in logs.faulty {
            let rest = try filter.apply(to: faulty.logs, plan, trace: trace)
            for group in rest.groups {
                left[group.plan, group.labels].faulty
                    .append(FaultyLogs(logs: group.logs, fault: faulty.fault))
            }
            for dead in rest.dead {
                // The rules of a destination may still accept an oversized log, but not one that a
                // filter gave up.
                let fault = faulty.fault.isOversize ? dead.logs.fault : faulty.fault
                left[dead.plan, dead.labels].faulty
                    .append(FaultyLogs(logs: dead.logs.logs, fault: fault))
            }
            counts.add(rest)
        }
        // Only their number is left.
        if logs.dropped > 0 { left[plan, .none].dropped = logs.dropped }
        return left
    }
}

/// A request as `LogDispatch` needs it.
struct DispatchRequest {
    let table: RoutingTable
    /// Asks if the device's key may send to a destination.
    let allows: (String) -> Bool
    /// Refuses a destination that the key has no right to.
    let checkRight: (String) throws(Refusal) -> Void
    /// For the templates of filters.
    let sender: SenderText
    /// The size that logs may reach together, at each destination, when each repeats their tags.
    let repeatedBytesMax: Int
    /// The target of another tag, where the request names a project.
    let retarget: (String) throws(Refusal) -> RoutingTable.Target
    /// Applies a destination's rules to logs that were decoded without them.
    let applyRules: (EncodedLogs, RoutingTable.Target) throws(Refusal) -> DecodedLogs
    /// Sees each step, for the tester and captures.
    var trace: FilterTrace?
}

/// What becomes of the logs of one request.
struct DispatchedLogs {
    struct Counts: Sendable, Equatable {
        /// Logs that filters dropped or sampled out.
        var filtered = 0
        /// Logs that a route without destinations, or `unrouted: drop`, dropped.
        var dropped = 0
        /// Logs that no route takes.
        var unrouted = 0
        /// Logs that filters made of others. They count as received.
        var added = 0

        fileprivate mutating func add(_ logs: FilteredLogs) {
            filtered += logs.dropped + logs.sampledOut
            added += logs.added
        }
    }

    /// Where logs of a group go that leave the filters with a tag.
    struct Place {
        let group: Int
        let tag: String
        let destination: String
    }

    var parts: [TakenPart]
    var counts = Counts()
    /// Only where a trace is kept, and there are filters or routes.
    var places: [Place] = []
    /// How many destinations the parts have, for what is bounded at each of them.
    var destinations = 1

    init(_ parts: [TakenPart]) {
        self.parts = parts
    }

    /// The tally of a request with so many logs.
    func tally(of logs: Int, _ batches: [Batch]) -> IntakeTally {
        let received = logs + counts.added
        return IntakeTally(
            received: received,
            filtered: counts.filtered,
            dropped: counts.dropped,
            routed: received - counts.filtered - counts.dropped,
            copies: batches.logCopies
        )
    }
}

/// Logs by the tags and labels with which they leave the filters, in the order of their first logs.
private struct LogsByTag {
    private struct Key: Hashable {
        let plan: ObjectIdentifier
        let labels: NewLabels
    }

    private(set) var all: [FilteredLogs.Group<DecodedLogs>] = []
    private var indices: [Key: Int] = [:]
    var areRetimed = false

    /// Adds sound logs; the first ones share their bytes.
    mutating func add(_ logs: EncodedLogs, _ plan: TagPlan, _ labels: NewLabels) {
        if self[plan, labels].sound.count == 0 {
            self[plan, labels].sound = logs
        } else {
            self[plan, labels].sound.bytes += logs.bytes
            self[plan, labels].sound.count += logs.count
        }
    }

    subscript(plan: TagPlan, labels: NewLabels) -> DecodedLogs {
        get {
            indices[Key(plan: ObjectIdentifier(plan), labels: labels)].map { all[$0].logs }
                ?? DecodedLogs()
        }
        _modify {
            let key = Key(plan: ObjectIdentifier(plan), labels: labels)
            let known = indices[key]
            let index = known ?? all.count
            if known == nil {
                indices[key] = index
                all.append((plan, labels, DecodedLogs()))
            }
            yield &all[index].logs
        }
    }
}

extension LogGroup {
    /// Takes over a tag that a filter made. The topic follows where the tag is the topic.
    fileprivate mutating func follow(_ newTag: String) {
        let topic = fallbackTopic == tag ? newTag : fallbackTopic
        self = LogGroup(tracked, target, tag: newTag, fallbackTopic: topic)
        isRetagged = true
    }

    /// Takes over the topic and the source that filters made.
    fileprivate mutating func take(_ labels: NewLabels) {
        if let topic = labels.topic { tracked.topic = String(decoding: topic, as: UTF8.self) }
        if let source = labels.source { tracked.source = String(decoding: source, as: UTF8.self) }
    }
}

extension LogFilter {
    /// The group with its topic, source and tags redacted.
    fileprivate func redacted(
        _ group: LogGroup,
        _ plan: TagPlan,
        after earlier: TagPlan? = nil
    ) throws(LogDecodingError) -> LogGroup {
        guard coversStreams(plan) else { return group }
        let own = group.tracked.topic.flatMap { $0.isEmpty ? nil : $0 }
        var fields = [
            ("__topic__", own ?? group.fallbackTopic), ("__source__", group.tracked.source ?? ""),
        ]
        for tag in group.tracked.tags { fields.append((FieldName.ofTag(tag.key), tag.value)) }
        let named = fields.map { (key: $0.0, value: $0.1) }
        guard let values = try redacted(shared: named, plan, after: earlier) else { return group }
        var tracked = group.tracked
        tracked.topic = own == nil ? nil : values[0]
        tracked.source = values[1]
        tracked.tags = zip(group.tracked.tags, values.dropFirst(2)).compactMap { tag, value in
            value.map { (key: tag.key, value: $0) }
        }
        let topic = own == nil ? values[0] ?? "" : ""
        var redacted = LogGroup(tracked, group.target, tag: group.tag, fallbackTopic: topic)
        redacted.isRetagged = group.isRetagged
        return redacted
    }
}

extension LogFault {
    var isOversize: Bool {
        switch self {
        case .valueTooLong, .nameTooLong: true
        default: false
        }
    }
}

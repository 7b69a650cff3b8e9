package import Logs
import System

/// Applies the filters of a router to logs. Each thread has its own, with memory that it uses again
/// and again.
///
/// Logs that no step changes are copied as they are, neighbours at once. The work for a batch is
/// bounded by its bytes times the steps of the filters.
package final class LogFilter {
    /// The tag of a log may change so often.
    package static let tagChangesMax = 8
    /// A piece of a log may be split again; so many times at most, which bounds the stack.
    package static let splitsMax = 4
    /// The pieces of split logs may take as many bytes as the request's logs, and these.
    package static let splitBytesFree = 1 << 20

    let program: FilterProgram
    let draft: LogDraft
    let tags: TagStates
    let runner: StepRunner
    private let sets: [CounterSet<FilterCounter>]
    /// The counts of this batch, by filter.
    private var counts: [Counts<FilterCounter>]
    private var encoded = RawMemory(capacity: 4096)
    /// The tags that the present log had, once it has another one.
    private var path: [TagState] = []

    package init(
        _ router: Router,
        _ plans: TagPlans,
        limits: LogLimits = LogLimits(),
        counters: FilterCounters = FilterCounters()
    ) {
        program = FilterProgram(router)
        draft = LogDraft(program.texts, limits)
        tags = TagStates(plans, groupsMax: limits.batches)
        runner = StepRunner(draft, tags, tagWork: program.tagWork)
        sets = program.filters.map { counters.set(for: $0.name) }
        draft.requestParts = Array(repeating: nil, count: program.parts.count)
        counts = Array(repeating: Counts(), count: program.filters.count)
    }

    /// Begins a request whose logs have so many bytes.
    package func begin(_ sender: SenderText, logBytes: Int) {
        runner.sender = sender
        draft.work = sender.work
        runner.splitRoom = Self.splitBytesFree + logBytes
        if !program.parts.isEmpty { draft.requestParts = program.parts.map { sender.part($0) } }
    }

    /// Applies the filters of the logs' tag, in the request that began. It throws only for bytes
    /// that are no logs of the gateway's encoding.
    package func apply(
        to logs: EncodedLogs,
        _ plan: TagPlan,
        trace: FilterTrace? = nil
    ) throws(LogDecodingError) -> FilteredLogs {
        guard logs.count > 0 else { return FilteredLogs() }
        guard !plan.filters.isEmpty else {
            return FilteredLogs(groups: [(plan: plan, labels: .none, logs: logs)])
        }
        defer {
            draft.end()
            encoded.shrink(to: 256 << 10)
            // Also of a batch that could not be read.
            _ = tags.takeGroups()
        }
        var left = try logs.bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            try filtered(logs, in: bytes, plan, trace)
        }
        if left.groups.isEmpty { left.groups = tags.takeGroups() }
        for index in counts.indices where counts[index][.seen] > 0 {
            counts[index].move(to: sets[index])
        }
        return left
    }

    private func filtered(
        _ logs: EncodedLogs,
        in bytes: UnsafeBufferPointer<UInt8>,
        _ plan: TagPlan,
        _ trace: FilterTrace?
    ) throws(LogDecodingError) -> FilteredLogs {
        var filtered = FilteredLogs()
        var run = try pass(bytes, from: Point(tags.state(of: plan)), trace, &filtered)
        if run.count == logs.count, run.range == 0..<bytes.count {
            filtered.groups = [(run.tag.plan, run.tag.labels, logs)]
        } else {
            end(&run, bytes)
        }
        return filtered
    }

    /// Applies filters to logs, or the steps behind a split to its pieces. Returns the last logs
    /// side by side that leave as they came, with the same tag.
    private func pass(
        _ bytes: UnsafeBufferPointer<UInt8>,
        from point: Point,
        _ trace: FilterTrace?,
        _ filtered: inout FilteredLogs
    ) throws(LogDecodingError) -> Run {
        draft.start(UnsafeRawBufferPointer(bytes))
        var entries = LogEntries(UnsafeRawBufferPointer(bytes))
        var run = Run(tag: point.tag)
        while let entry = try entries.next() {
            try draft.read(entry)
            if runner.splits == 0 { trace?.start(draft) } else { trace?.goOn(draft) }
            let outcome = outcome(point, trace)
            if draft.newTime != nil { filtered.areRetimed = true }
            switch outcome {
            case .kept(let tag):
                tags.open(tag)
                if draft.changes == 0, tag === run.tag, run.range.upperBound == entry.lowerBound {
                    run.range = run.range.lowerBound..<entry.upperBound
                    run.count += 1
                    continue
                }
                end(&run, bytes)
                run.tag = tag
                if draft.changes == 0 {
                    (run.range, run.count) = (entry, 1)
                } else {
                    tags.append(draft.encode(to: &encoded), count: 1, to: tag)
                    (run.range, run.count) = (entry.upperBound..<entry.upperBound, 0)
                }
            case .dropped: filtered.dropped += 1
            case .sampledOut: filtered.sampledOut += 1
            case .dead(let tag, let fault):
                filtered.addDead(draft.encode(to: &encoded), tag, fault)
            case .split(let pieces, let next):
                end(&run, bytes)
                try pass(pieces, from: next, trace, &filtered)
                draft.start(UnsafeRawBufferPointer(bytes))
            }
        }
        return run
    }

    private func pass(
        _ pieces: EncodedLogs,
        from point: Point,
        _ trace: FilterTrace?,
        _ filtered: inout FilteredLogs
    ) throws(LogDecodingError) {
        filtered.added += pieces.count - 1
        runner.splits += 1
        defer { runner.splits -= 1 }
        try pieces.bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            var run = try pass(bytes, from: point, trace, &filtered)
            end(&run, bytes)
        }
    }

    private struct Run {
        var tag: TagState
        var range = 0..<0
        var count = 0
    }

    private func end(_ run: inout Run, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard run.count > 0 else { return }
        let entries = UnsafeBufferPointer(rebasing: bytes[run.range])
        tags.append(entries, count: run.count, to: run.tag)
        run.count = 0
    }

    // MARK: - One log

    private enum Outcome {
        case kept(TagState)
        case dropped
        case sampledOut
        case dead(TagState, LogFault)
        case split(EncodedLogs, Point)
    }

    /// Where a log is on its way: the filter's place among those of the tag that led to it, the
    /// step, and the log's tag.
    private struct Point {
        var start: TagState
        var tag: TagState
        var position = 0
        var step = 0

        init(_ tag: TagState) { (start, self.tag) = (tag, tag) }

        /// Moves to the first filter that the log's tag has behind the present one.
        mutating func passFilter() {
            let index = start.plan.filters[position].index
            let filters = tag.plan.filters
            position =
                tag === start
                ? position + 1 : filters.firstIndex { $0.index > index } ?? filters.count
            (start, step) = (tag, 0)
        }
    }

    /// Why a log becomes a dead letter, and the tag that it had.
    private typealias Death = (tag: TagState, fault: LogFault)

    /// Applies the filters to the draft. A log that becomes a dead letter still passes the
    /// redactions that were to come: dead letters are stored, too.
    private func outcome(_ point: Point, _ trace: FilterTrace?) -> Outcome {
        var point = point
        var death: Death?
        if !path.isEmpty { path.removeAll(keepingCapacity: true) }
        while point.position < point.start.plan.filters.count {
            if let end = applyFilter(&point, &death, trace) { return end }
            point.passFilter()
        }
        if let death {
            trace?.end(.deadLetter(death.fault), death.tag)
            return .dead(death.tag, death.fault)
        }
        trace?.end(.kept, point.tag)
        return .kept(point.tag)
    }

    /// Applies the steps of one filter. nil: the log goes on.
    @inline(__always)
    private func applyFilter(
        _ point: inout Point,
        _ death: inout Death?,
        _ trace: FilterTrace?
    ) -> Outcome? {
        let place = MatchedFilter(tag: point.start, position: point.position)
        let index = point.start.plan.filters[point.position].index
        let steps = program.filters[index].steps
        let changes = draft.changes
        var hasFailed = false
        if death == nil, point.step == 0 { counts[index][.seen] += 1 }
        for step in point.step..<steps.count {
            // The tester refuses the whole trial.
            guard draft.spend(16) else { return .dropped }
            if death != nil, !steps[step].isRedaction { continue }
            if let condition = steps[step].condition, !condition.holds(draft, point.tag) {
                trace?.add(.skipped, step, of: place, draft)
                continue
            }
            let before = draft.changes
            do {
                let result = try runner.perform(steps[step].action, point.tag, place)
                trace?.add(result, isChanged: draft.changes != before, step, of: place, draft)
                switch result {
                case .goesOn: break
                case .dropped: return dropped(.dropped, by: index, of: point.tag, trace)
                case .sampledOut: return dropped(.sampledOut, by: index, of: point.tag, trace)
                case .tagged(let new):
                    path.append(point.tag)
                    point.tag = new
                    if path.count > Self.tagChangesMax { death = (new, tagLoop(new)) }
                case .labelled(let new): point.tag = new
                case .split(let pieces):
                    _ = draft.spend(16 * pieces.bytes.count)
                    counts[index][.added] += pieces.count - 1
                    counts[index][.changed] += 1
                    point.step = step + 1
                    return .split(pieces, point)
                }
            } catch {
                let filter = program.filters[index]
                let onError = death == nil ? filter.onError : .deadLetter
                trace?.add(.failed(error.reason, onError), step, of: place, draft)
                if !hasFailed { counts[index][.failed] += 1 }
                hasFailed = true
                if death != nil || onError == .keep { continue }
                if onError == .drop { return dropped(.dropped, by: index, of: point.tag, trace) }
                let reason = error.reason
                death = (
                    point.tag, .filterFailed(filter: filter.name, step: step, reason: reason)
                )
            }
        }
        if draft.changes != changes || point.tag !== point.start { counts[index][.changed] += 1 }
        return nil
    }

    /// Ends a log that a filter dropped or sampled out.
    private func dropped(
        _ counter: FilterCounter,
        by index: Int,
        of tag: TagState,
        _ trace: FilterTrace?
    ) -> Outcome {
        trace?.end(.droppedBy(filter: index), tag)
        counts[index][counter] += 1
        return counter == .sampledOut ? .sampledOut : .dropped
    }

    private func tagLoop(_ last: TagState) -> LogFault {
        .tagLoop(tags: (path + [last]).map(\.plan.tag), changesMax: Self.tagChangesMax)
    }

    // MARK: - What logs share

    /// Applies the steps `remove` and `redact` of a tag's filters to what logs share: topic, source
    /// and tags are stored beside them, under the names `__topic__`, `__source__` and
    /// `__tag__:NAME`. A step whose condition depends on fields applies, since it applies to some
    /// logs. A removed value is nil. The result is nil when nothing changes. `earlier` is the plan
    /// of the tag that the logs had before, whose filters have been applied.
    package func redacted(
        shared fields: [(key: String, value: String)],
        _ plan: TagPlan,
        after earlier: TagPlan? = nil
    ) throws(LogDecodingError) -> [String?]? {
        var encoded = EncodedLogs()
        encoded.append(time: LogTime(seconds: 0), named: fields)
        defer { draft.end() }
        return try encoded.bytes.withUnsafeBufferPointer {
            bytes throws(LogDecodingError) -> [String?]? in
            draft.start(UnsafeRawBufferPointer(bytes))
            try draft.read(0..<bytes.count)
            redactDraft(plan, after: earlier)
            guard draft.changes > 0 else { return nil }
            return fields.indices.map { index in
                let field = draft.field(index)
                guard !field.isRemoved else { return nil }
                return String(decoding: draft.bytes(field.value), as: UTF8.self)
            }
        }
    }

    /// True when `redacted` may change something.
    package func coversStreams(_ plan: TagPlan) -> Bool {
        plan.filters.contains { program.filters[$0.index].coversStreams }
    }

    private func redactDraft(_ plan: TagPlan, after earlier: TagPlan?) {
        let tag = tags.state(of: plan)
        for (position, filter) in plan.filters.enumerated() {
            if let earlier, earlier.filters.contains(where: { $0.index == filter.index }) {
                continue
            }
            let steps = program.filters[filter.index].steps
            guard draft.spend(32 * steps.count) else { return }
            for step in steps where step.coversStreams {
                guard step.condition?.holds(tag, draft) != false else { continue }
                let place = MatchedFilter(tag: tag, position: position)
                // A value that cannot be looked at is removed before the step fails.
                _ = try? runner.perform(step.action, tag, place)
            }
        }
    }
}

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
    /// Of the present batch, for each filter.
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
        let result: Result<FilteredLogs, LogDecodingError> = logs.bytes.withUnsafeBufferPointer {
            bytes in
            Result { () throws(LogDecodingError) in try filtered(logs, bytes, plan, trace) }
        }
        draft.end()
        encoded.shrink(to: 256 << 10)
        let groups = tags.takeGroups()
        var left = try result.get()
        if left.groups.isEmpty { left.groups = groups }
        for index in counts.indices where counts[index][.seen] > 0 {
            counts[index].move(to: sets[index])
        }
        return left
    }

    private func filtered(
        _ logs: EncodedLogs,
        _ bytes: UnsafeBufferPointer<UInt8>,
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
        let result: Result<Void, LogDecodingError> = pieces.bytes.withUnsafeBufferPointer { bytes in
            Result { () throws(LogDecodingError) in
                var run = try pass(bytes, from: point, trace, &filtered)
                end(&run, bytes)
            }
        }
        try result.get()
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
        let start: TagState
        var tag: TagState
        var position = 0
        var step = 0

        init(_ tag: TagState) { (start, self.tag) = (tag, tag) }

        init(_ start: TagState, _ tag: TagState, _ position: Int, _ step: Int) {
            (self.start, self.tag, self.position, self.step) = (start, tag, position, step)
        }
    }

    /// Applies the filters to the draft. A log that becomes a dead letter still passes the
    /// redactions that were to come: dead letters are stored, too.
    private func outcome(_ point: Point, _ trace: FilterTrace?) -> Outcome {
        var (start, tag) = (point.start, point.tag)
        var (position, firstStep) = (point.position, point.step)
        var fault: (tag: TagState, fault: LogFault)?
        if !path.isEmpty { path.removeAll(keepingCapacity: true) }
        while position < start.plan.filters.count {
            let index = start.plan.filters[position].index
            let changes = draft.changes
            let place = FilterPlace(tag: start, position: position)
            var hasFailed = false
            if fault == nil, firstStep == 0 { counts[index][.seen] += 1 }
            let steps = program.filters[index].steps
            for step in firstStep..<steps.count {
                // The tester refuses the whole trial.
                guard draft.spend(16) else { return .dropped }
                if fault != nil, !steps[step].isRedaction { continue }
                if let condition = steps[step].condition, !condition.holds(draft, tag) {
                    trace?.add(.skipped, step, of: place, draft)
                    continue
                }
                let before = draft.changes
                do {
                    switch try runner.perform(steps[step].action, tag, place) {
                    case .goesOn:
                        let effect =
                            draft.changes == before ? FilterTrace.Effect.unchanged : .changed
                        trace?.add(effect, step, of: place, draft)
                    case .dropped:
                        trace?.add(.dropped, step, of: place, draft)
                        trace?.end(.droppedBy(filter: index), tag)
                        counts[index][.dropped] += 1
                        return .dropped
                    case .sampledOut:
                        trace?.add(.sampledOut, step, of: place, draft)
                        trace?.end(.droppedBy(filter: index), tag)
                        counts[index][.sampledOut] += 1
                        return .sampledOut
                    case .tagged(let new):
                        trace?.add(.tagged(new.plan.tag), step, of: place, draft)
                        path.append(tag)
                        tag = new
                        if path.count > Self.tagChangesMax { fault = (tag, tagLoop(tag)) }
                    case .labelled(let new):
                        trace?.add(.changed, step, of: place, draft, labels: new.labels)
                        tag = new
                    case .split(let pieces):
                        trace?.add(.split(pieces.count), step, of: place, draft)
                        _ = draft.spend(16 * pieces.bytes.count)
                        counts[index][.added] += pieces.count - 1
                        counts[index][.changed] += 1
                        return .split(pieces, Point(start, tag, position, step + 1))
                    }
                } catch {
                    let onError = fault == nil ? program.filters[index].onError : .deadLetter
                    trace?.add(.failed(error.reason, onError), step, of: place, draft)
                    if !hasFailed { counts[index][.failed] += 1 }
                    hasFailed = true
                    if fault != nil { continue }
                    switch program.filters[index].onError {
                    case .keep: continue
                    case .drop:
                        trace?.end(.droppedBy(filter: index), tag)
                        counts[index][.dropped] += 1
                        return .dropped
                    case .deadLetter:
                        let name = program.filters[index].name
                        fault = (
                            tag, .filterFailed(filter: name, step: step, reason: error.reason)
                        )
                    }
                }
            }
            if draft.changes != changes || tag !== start { counts[index][.changed] += 1 }
            position = tag === start ? position + 1 : tag.plan.filters.position(behind: index)
            (start, firstStep) = (tag, 0)
        }
        if let fault {
            trace?.end(.deadLetter(fault.fault), fault.tag)
            return .dead(fault.tag, fault.fault)
        }
        trace?.end(.kept, tag)
        return .kept(tag)
    }

    private func tagLoop(_ last: TagState) -> LogFault {
        .tagLoop(tags: (path + [last]).map(\.plan.tag), changesMax: Self.tagChangesMax)
    }
}

extension [(index: Int, captured: String?)] {
    /// The first filter that comes after this one among all filters.
    fileprivate func position(behind index: Int) -> Int {
        firstIndex { $0.index > index } ?? count
    }
}

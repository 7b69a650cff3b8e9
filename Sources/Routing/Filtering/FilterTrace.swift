package import Logs

/// What each step did to each log, for the tester. Its memory has a bound.
package final class FilterTrace {
    package typealias Fields = [(name: String, value: String)]

    package enum Effect: Sendable, Equatable {
        case changed
        case unchanged
        /// The step's condition does not hold.
        case skipped
        case dropped
        case sampledOut
        case tagged(String)
        /// So many logs go on in its place. Their steps follow.
        case split(Int)
        case failed(String, Filter.OnError)
    }

    package struct Step {
        /// The place of the filter among all filters, and of the step in it.
        package let filter: Int
        package let step: Int
        /// The tag by which the filter matched, and what its last wildcard took.
        package let tag: String
        package let captured: String
        package let effect: Effect
        /// The fields that the step changed or removed, as they were.
        package let before: Fields
        /// The fields that the step changed or added, as they are.
        package let after: Fields
    }

    package enum End: Sendable, Equatable {
        case kept
        case droppedBy(filter: Int)
        case deadLetter(LogFault)
    }

    package struct Log {
        package fileprivate(set) var steps: [Step] = []
        package fileprivate(set) var end = End.kept
        /// `end` is set. A split log ends as its first kept piece does, or as its first piece if
        /// none is kept.
        fileprivate var hasEnd = false
        /// The tag and the fields with which the log left the filters; for a dropped log those
        /// before the drop. nil: the trace had no room for them.
        package fileprivate(set) var tag = ""
        package fileprivate(set) var fields: Fields?
    }

    package static let bytesMax = 1 << 20
    package static let logsMax = 10_000
    /// What a step costs besides its texts.
    private static let stepBytes = 128

    package private(set) var logs: [Log] = []
    /// True when the trace had no room for everything.
    package private(set) var isCut = false
    private var room: Int
    private let logsMax: Int
    /// There is room for no more logs, so the present one is not among them.
    private var isFull = false
    /// The present log behind the last step.
    private var fields: Fields = []

    package init(bytesMax: Int = bytesMax, logsMax: Int = logsMax) {
        room = bytesMax
        self.logsMax = logsMax
    }

    func start(_ draft: LogDraft) {
        guard logs.count < logsMax else {
            (isFull, isCut) = (true, true)
            return
        }
        logs.append(Log())
        fields = isCut ? [] : draft.texts
    }

    /// Goes on with a piece of the present log.
    func goOn(_ draft: LogDraft) {
        if !isFull { fields = isCut ? [] : draft.texts }
    }

    /// What a step did, which did not fail.
    func add(
        _ result: StepRunner.Result,
        isChanged: Bool,
        _ step: Int,
        of place: MatchedFilter,
        _ draft: LogDraft
    ) {
        switch result {
        case .goesOn: add(isChanged ? .changed : .unchanged, step, of: place, draft)
        case .dropped: add(.dropped, step, of: place, draft)
        case .sampledOut: add(.sampledOut, step, of: place, draft)
        case .tagged(let new): add(.tagged(new.plan.tag), step, of: place, draft)
        case .labelled(let new): add(.changed, step, of: place, draft, labels: new.labels)
        case .split(let pieces): add(.split(pieces.count), step, of: place, draft)
        }
    }

    func add(
        _ effect: Effect,
        _ step: Int,
        of place: MatchedFilter,
        _ draft: LogDraft,
        labels: NewLabels = .none
    ) {
        guard !isFull, spend(Self.stepBytes) else { return }
        var (before, after): (Fields, Fields) = ([], [])
        // A failed step may have removed what it could not redact.
        if effect == .changed || effect.isFailure {
            let new = draft.texts
            _ = draft.spend(256 * new.count)
            before = fields.without(new)
            after = new.without(fields)
            fields = new
            for (name, label) in [("__topic__", labels.topic), ("__source__", labels.source)] {
                if let label { after.append((name, String(decoding: label, as: UTF8.self))) }
            }
            guard spend(before.bytes + after.bytes + new.bytes / 16) else { return }
        }
        let filter = place.tag.plan.filters[place.position]
        logs[logs.count - 1].steps.append(
            Step(
                filter: filter.index,
                step: step,
                tag: place.tag.plan.tag,
                captured: filter.captured ?? "",
                effect: effect,
                before: before,
                after: after
            )
        )
    }

    func end(_ end: End, _ tag: TagState) {
        let known = logs.last
        guard !isFull, known?.hasEnd == false || known?.end != .kept && end == .kept else { return }
        logs[logs.count - 1].hasEnd = true
        logs[logs.count - 1].end = end
        logs[logs.count - 1].tag = tag.plan.tag
        if spend(fields.bytes) { logs[logs.count - 1].fields = fields }
    }

    private func spend(_ bytes: Int) -> Bool {
        if isCut || bytes > room {
            isCut = true
        } else {
            room -= bytes
        }
        return !isCut
    }
}

extension FilterTrace.Effect {
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension FilterTrace.Fields {
    fileprivate var bytes: Int { reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// The fields that `other` has not with the same value.
    fileprivate func without(_ other: FilterTrace.Fields) -> FilterTrace.Fields {
        let values = Dictionary(other.map { (ByteText($0.name), $0.value) }) { _, last in last }
        return filter { field in
            values[ByteText(field.name)].map { !$0.utf8.elementsEqual(field.value.utf8) } ?? true
        }
    }
}

extension LogDraft {
    fileprivate var texts: FilterTrace.Fields {
        let time = newTime.map { time in
            let part = "\(1_000_000_000 + time.nanoseconds)".dropFirst()
            let value = time.nanoseconds == 0 ? "\(time.seconds)" : "\(time.seconds).\(part)"
            return (name: "__time__", value: value)
        }
        return (time.map { [$0] } ?? [])
            + (0..<fieldCount).map { field($0) }.filter { !$0.isRemoved }.map { field in
                (
                    name: String(decoding: bytes(field.name), as: UTF8.self),
                    value: String(decoding: bytes(field.value), as: UTF8.self)
                )
            }
    }
}

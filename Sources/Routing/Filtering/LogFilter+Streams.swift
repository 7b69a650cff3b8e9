package import Logs

extension LogFilter {
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
        let result: Result<[String?]?, LogDecodingError> = encoded.bytes.withUnsafeBufferPointer {
            bytes in
            Result { () throws(LogDecodingError) in
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
        draft.end()
        return try result.get()
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
                let place = FilterPlace(tag: tag, position: position)
                // A value that cannot be looked at is removed before the step fails.
                _ = try? runner.perform(step.action, tag, place)
            }
        }
    }
}

extension FilterProgram.Filter {
    var coversStreams: Bool { steps.contains(where: \.coversStreams) }
}

extension CompiledCondition {
    /// Nil: the fields of a log decide.
    fileprivate func holds(_ tag: TagState, _ draft: LogDraft) -> Bool? {
        switch self {
        case .field: return nil
        case .tag(let number): return tag.plan.holds(number)
        case .request(let number, let test): return test.holds(part: number, draft)
        case .not(let condition): return condition.holds(tag, draft).map { !$0 }
        case .all(let conditions):
            let all = conditions.map { $0.holds(tag, draft) }
            return all.contains(false) ? false : all.contains(nil) ? nil : true
        case .any(let conditions):
            let all = conditions.map { $0.holds(tag, draft) }
            return all.contains(true) ? true : all.contains(nil) ? nil : false
        }
    }
}

extension FieldPattern {
    /// True for a pattern that may match a name under which topic, source or tags are known.
    var coversStreams: Bool {
        let start = text.prefix { $0 != "*" }
        guard start.utf8.count < text.utf8.count else {
            return text == "__topic__" || text == "__source__" || text.hasPrefix("__tag__:")
        }
        return ["__topic__", "__source__", "__tag__:"].contains { name in
            name.hasPrefix(start) || start.hasPrefix(name)
        }
    }
}

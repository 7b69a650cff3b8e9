import Synchronization

/// The work that filters may do in one trial, for all its logs: a caller brings rules of its own.
///
/// It is counted, not timed, so the same trial always has the same end. A unit is about 1 ns.
package final class TrialWork: Sendable {
    private let left = Atomic<Int>(1 << 30)

    package init() {}

    /// The trial was cut short, so its findings mean nothing.
    package var isSpent: Bool { left.load(ordering: .relaxed) < 0 }

    /// Returns false when less is left, and from then on.
    package func spend(_ units: Int) -> Bool {
        let rest = left.load(ordering: .relaxed)
        if rest >= 0 { left.store(rest - units, ordering: .relaxed) }
        return rest >= units
    }
}

extension TextPattern {
    /// RE2's worst case: each byte visits every instruction, because the cache of states is too
    /// small.
    func work(_ bytes: Int) -> Int { 256 + 16 * bytes * instructions }
}

extension CompiledCondition.Test {
    func work(_ bytes: Int) -> Int {
        switch self {
        case .matches(let pattern): pattern.work(bytes)
        case .isLike(let globs): globs.reduce(16) { $0 + $1.work(bytes) }
        case .exists, .isOneOf, .atLeast, .atMost: 64
        }
    }
}

extension FilterProgram.Action {
    /// What a step costs besides the text that it writes and the values that it redacts.
    func work(_ draft: LogDraft) -> Int {
        let fields = draft.fieldCount
        func bytes(_ field: Int?) -> Int { field.flatMap { draft.value(of: $0)?.count } ?? 0 }
        switch self {
        case .add(let list), .set(let list):
            return list.reduce(0) { $0 + (2 + $1.value.parts.count) * 2 * (fields + list.count) }
        case .rename(let list): return 4 * list.count * fields
        case .remove(let selector), .keep(let selector), .truncate(let selector, _):
            return selector.work(draft)
        case .redact(let redactor): return redactor.fields.work(draft)
        case .parse(let parser):
            let size = bytes(parser.field)
            // The match, and then its groups.
            if case .regex(let pattern, _) = parser.format { return 2 * pattern.work(size) }
            return 8 * size + 4 * Parsing.fieldsMax * fields
        case .sample(_, let field): return 2 * bytes(field)
        case .split(let splitter):
            let size = bytes(splitter.field)
            return 8 * (size + fields * min(size / 2, splitter.most))
        case .tag(let text), .topic(let text), .source(let text): return text.parts.count * fields
        case .drop, .time: return 0
        }
    }
}

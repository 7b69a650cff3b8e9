/// What each step did to each log, for the tester.
package final class FilterTrace {
    package enum Effect: Sendable, Equatable {
        case changed
        case unchanged
        /// The step's condition does not hold.
        case skipped
        case dropped
        case sampledOut
        case tagged(String)
        case failed(String)
    }

    package struct Step {
        /// The place of the filter among all filters, and of the step in it.
        package let filter: Int
        package let step: Int
        package let effect: Effect
        /// The log after the step.
        package let fields: [(name: String, value: String)]
    }

    package struct Log {
        /// The log as it came.
        package let fields: [(name: String, value: String)]
        package var steps: [Step] = []
    }

    package private(set) var logs: [Log] = []

    package init() {}

    func start(_ draft: LogDraft) {
        logs.append(Log(fields: draft.texts))
    }

    func add(_ effect: Effect, filter: Int, step: Int, _ draft: LogDraft) {
        logs[logs.count - 1].steps.append(
            Step(filter: filter, step: step, effect: effect, fields: draft.texts)
        )
    }
}

extension LogDraft {
    fileprivate var texts: [(name: String, value: String)] {
        (0..<fieldCount).map { field($0) }.filter { !$0.isRemoved }.map { field in
            (
                name: String(decoding: bytes(field.name), as: UTF8.self),
                value: String(decoding: bytes(field.value), as: UTF8.self)
            )
        }
    }
}

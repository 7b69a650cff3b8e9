import Logs
import System
import TestSupport
import Testing

@testable import Routing

/// Random filters on random logs, against an implementation on arrays of strings.
@Suite struct FilterModelTests {
    private static let names = [
        "a", "b", "ab", "debug_x", "debug_y", "longer_name_1", "longer_name_2",
    ]
    private static let values = [
        "", "1", "22", "é日本", "text with spaces", "debug", #"["x",1]"#, "[]", "[1,]",
    ]

    @Test(arguments: 0..<150)
    func filtersDoWhatTheirModelDoes(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var model = FilterModel(steps: [])
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            model.steps.append(try step(&random))
        }
        let logs = (0..<20).map { _ in log(&random) }
        let expected = logs.flatMap { log in
            model.result(log).map { $0.map { "\($0.0)=\($0.1)" } }
        }
        let filter = Filter(name: "F", steps: model.steps)
        let result = try FilterBench([filter]).apply(logs)
        #expect(result.kept.map(\.fields) == expected, "\(model.steps)")
        #expect(result.kept.count + result.dropped == logs.count + result.added)
        // Times stay, whatever happens to fields.
        for entry in result.groups.flatMap(\.logs.entries) {
            #expect(entry.time.nanoseconds == entry.time.seconds % 2 * 7)
        }
    }

    private func log(_ random: inout SeededRandom) -> FilterBench.Fields {
        Self.names.shuffled(using: &random).prefix(Int.random(in: 0...5, using: &random)).map {
            ($0, Self.values.randomElement(using: &random) ?? "")
        }
    }

    private func step(_ random: inout SeededRandom) throws -> FilterStep {
        func name() -> String { Self.names.randomElement(using: &random) ?? "" }
        func assignments() throws -> [Assignment] {
            try (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let value = ["x", "{{field:a}}", "{{tag}}-{{field:b}}"].randomElement(
                    using: &random
                )
                return Assignment(field: name(), value: try Template(value ?? ""))
            }
        }
        let fields = [FieldPattern(name()), FieldPattern("debug_*")]
        let action: FilterStep.Action =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .add(try assignments())
            case 1: .set(try assignments())
            case 2:
                .rename([Renaming(from: name(), to: name()), Renaming(from: name(), to: name())])
            case 3: .remove(fields)
            case 4: .keep(fields + [FieldPattern(name()), FieldPattern(name())])
            case 5:
                .truncate(Truncation(fields: fields, bytes: Int.random(in: 0...4, using: &random)))
            case 6:
                .split(
                    Splitting(
                        field: name(),
                        as: name(),
                        most: Int.random(in: 1...3, using: &random)
                    )
                )
            default: .drop
            }
        let condition: Condition? =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .field(name(), .exists(Bool.random(using: &random)))
            case 1: .not(.field(name(), .isOneOf(["1", "é日本"])))
            case 2: .field(name(), .atLeast(2))
            default: nil
            }
        if case .drop = action, condition == nil { return try step(&random) }
        return FilterStep(action, when: condition)
    }
}

private struct FilterModel {
    var steps: [FilterStep]

    /// The logs that it becomes.
    func result(_ log: FilterBench.Fields) -> [FilterBench.Fields] {
        result(log, from: 0, splits: 0)
    }

    private func result(
        _ log: FilterBench.Fields,
        from first: Int,
        splits: Int
    ) -> [FilterBench.Fields] {
        var log = log
        for (number, step) in steps.enumerated().dropFirst(first)
        where step.condition.map({ holds($0, log) }) ?? true {
            switch step.action {
            case .split(let splitting):
                // The only array that these tests have.
                guard value(splitting.field, log) == #"["x",1]"#, splitting.most >= 2,
                    splits < LogFilter.splitsMax
                else { continue }
                return ["x", "1"].flatMap { element in
                    var piece = log.filter { $0.0 != splitting.field }
                    if let index = piece.firstIndex(where: { $0.0 == splitting.name }) {
                        piece[index].1 = element
                    } else {
                        piece.append((splitting.name, element))
                    }
                    return result(piece, from: number + 1, splits: splits + 1)
                }
            case .add(let assignments):
                for assignment in assignments where value(assignment.field, log) == nil {
                    log.append((assignment.field, text(assignment.value, log)))
                }
            case .set(let assignments):
                for assignment in assignments {
                    let new = (assignment.field, text(assignment.value, log))
                    if let index = log.firstIndex(where: { $0.0 == new.0 }) {
                        log[index] = new
                    } else {
                        log.append(new)
                    }
                }
            case .rename(let renamings):
                for renaming in renamings where renaming.old != renaming.new {
                    guard let old = value(renaming.old, log) else { continue }
                    log.removeAll { $0.0 == renaming.new }
                    log = log.map { $0.0 == renaming.old ? (renaming.new, old) : $0 }
                }
            case .remove(let fields): log.removeAll { isNamed($0.0, fields) }
            case .keep(let fields): log.removeAll { !isNamed($0.0, fields) }
            case .truncate(let truncation):
                log = log.map { name, value in
                    guard isNamed(name, truncation.fields) else { return (name, value) }
                    return (name, value.prefix(bytes: truncation.bytes))
                }
            case .drop: return []
            default: break
            }
        }
        return [log]
    }

    private func holds(_ condition: Condition, _ log: FilterBench.Fields) -> Bool {
        switch condition {
        case .not(let inner): return !holds(inner, log)
        case .field(let name, .exists(let wanted)): return (value(name, log) != nil) == wanted
        case .field(let name, .isOneOf(let texts)):
            return value(name, log).map(texts.contains) ?? false
        case .field(let name, .atLeast(let bound)):
            return value(name, log).flatMap(Double.init).map { $0 >= bound } ?? false
        default: return false
        }
    }

    private func value(_ name: String, _ log: FilterBench.Fields) -> String? {
        log.first { $0.0 == name }?.1
    }

    private func isNamed(_ name: String, _ fields: [FieldPattern]) -> Bool {
        fields.contains { $0.text == name || $0.text == "debug_*" && name.hasPrefix("debug_") }
    }

    private func text(_ template: Template, _ log: FilterBench.Fields) -> String {
        template.parts.map { part in
            switch part {
            case .text(let text): text
            case .field(let name): value(name, log) ?? ""
            case .tag: "app"
            default: ""
            }
        }.joined()
    }
}

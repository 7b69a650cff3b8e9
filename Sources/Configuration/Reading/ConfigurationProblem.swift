import System

/// One thing that is wrong with the configuration: where, which setting, and what would be right.
package struct ConfigurationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Place: Hashable, Sendable {
        case file(String, line: Int)
        /// The name of an environment variable.
        case environment(String)
        /// A command line option, with its dashes.
        case option(String)
        /// What an operator decided while the gateway ran.
        case decided
        /// What follows from all of it together.
        case whole
    }

    package let place: Place
    /// The path of the setting, as in "destinations.app.endpoint"; empty where it is none.
    package let key: String
    package let text: String

    /// "sluice.yaml:7: queue.max_bytes: …"
    package var description: String {
        let start =
            switch place {
            case .file(let path, let line): "\(path):\(line): "
            case .environment(let name): "environment: \(name): "
            case .option(let name): "\(name): "
            case .decided, .whole: ""
            }
        // An option or variable names the setting itself.
        if case .environment = place { return start + text }
        if case .option = place { return start + text }
        return start + (key.isEmpty ? "" : "\(key): ") + text
    }
}

/// Everything that is wrong, in the order of the file.
package struct ConfigurationProblems: Error, Equatable, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}

/// Collects everything that is wrong while a configuration is read.
package final class ProblemReport {
    let inputs: ConfigurationInputs
    let file: String
    let substitution: Substitution
    package private(set) var problems: [ConfigurationProblem] = []
    /// Names that senders may be bound to; set before the groups that refer to them are read.
    var destinationNames: Set<String> = []
    /// Of all resolvers in the file, also those that are wrong.
    var resolverNames: Set<String> = []
    /// Devices' certificates are checked, so their names can be known.
    var clientsHaveNames = false
    /// There is a key for hashes in place of values.
    var filtersHaveSecret = false
    /// The instructions of all regular expressions so far.
    private var instructions = 0
    private static let instructionsMax = 200_000
    var hasTooManyPatterns: Bool { instructions > Self.instructionsMax }
    /// Header fields that conditions may ask.
    var filtersHeaders: [String] = []

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
        file = inputs.path ?? ""
        substitution = Substitution(environment: inputs.environment)
    }

    /// The document of the file; nil: there is none, or it is unreadable, which is reported.
    package func document() -> YAMLNode? {
        guard let path = inputs.path else { return nil }
        do {
            let content =
                try inputs.content
                ?? fileContent(
                    path,
                    bytesMax: YAMLLimits().bytes,
                    waits: inputs.waitsForFile
                )
            return try YAMLDocument.read(content)
        } catch let error as YAMLError {
            add(line: error.line, key: "", error.reason)
        } catch let error as FileProblem {
            add(.whole, "the configuration file \(path) cannot be read: \(error.reason)")
        } catch {}
        return nil
    }

    /// Bounds the instructions of all regular expressions, which stay in memory and take time to
    /// compile.
    func countInstructions(_ count: Int) throws(Mismatch) {
        instructions += count
        guard hasTooManyPatterns else { return }
        throw Mismatch(
            "the regular expressions up to here compile to more than \(Self.instructionsMax) "
                + "instructions, of which a wrong one counts \(Self.instructionsMax / 20); write fewer or "
                + "smaller ones: repeat counts such as {25} and classes such as \\pL are large. Later ones "
                + "are not read"
        )
    }

    /// Counts an expression that could not be compiled, which may take as long as a large one.
    func countFailedPattern() { instructions += Self.instructionsMax / 20 }

    func add(line: Int, key: String, _ text: String) {
        add(place(line), key: key, text)
    }

    func place(_ line: Int) -> ConfigurationProblem.Place {
        line == YAMLNode.decidedLine ? .decided : .file(file, line: line)
    }

    func add(_ place: ConfigurationProblem.Place, key: String = "", _ text: String) {
        problems.append(.init(place: place, key: key, text: text))
    }

    func add(
        _ place: ConfigurationProblem.Place,
        key: String = "",
        if isWrong: Bool = true,
        @TextParts _ text: () -> String
    ) {
        if isWrong { add(place, key: key, text()) }
    }

    /// What `value` gives; nil, and a report, if it throws.
    @discardableResult
    func reporting<Value>(
        _ place: ConfigurationProblem.Place,
        key: String = "",
        _ value: @autoclosure () throws(Mismatch) -> Value
    ) -> Value? {
        do throws(Mismatch) {
            return try value()
        } catch {
            add(place, key: key, error.reason)
            return nil
        }
    }

    /// A setting with this path is wrong already: what depends on its value cannot be judged.
    func hasProblem(with key: String) -> Bool { problems.contains { $0.key == key } }

    /// Adds the problems of options and variables, which can be judged without the file.
    func add(ofInputs other: ProblemReport) {
        for problem in other.problems {
            switch problem.place {
            case .option: problems.append(problem)
            case .environment(let name) where inputs.variable(name) != nil: problems.append(problem)
            default: break
            }
        }
    }

    /// By line, and without the repetitions that aliases bring.
    package var sorted: ConfigurationProblems {
        func line(_ problem: ConfigurationProblem) -> Int {
            if case .file(_, let line) = problem.place { line } else { 0 }
        }
        var seen: Set<ConfigurationProblem> = []
        return ConfigurationProblems(
            problems: problems.enumerated()
                .sorted { (line($0.element), $0.offset) < (line($1.element), $1.offset) }
                .map(\.element)
                .filter { seen.insert($0).inserted }
        )
    }
}

/// The name that was probably meant, when one is close enough.
package func nearMiss(_ written: String, among names: [String]) -> String? {
    func plain(_ name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }
    let wanted = plain(written)
    let closest =
        names
        .map { (name: $0, distance: editDistance(wanted, plain($0))) }
        .min { $0.distance < $1.distance }
    guard let closest, closest.distance <= max(1, wanted.count / 3) else { return nil }
    return closest.name
}

/// Insertions, removals, replacements and swaps of neighbours that turn one into the other.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var twoBack: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let isSame = left[row] == right[column]
            var best = min(
                last[column + 1] + 1,
                current[column] + 1,
                last[column] + (isSame ? 0 : 1)
            )
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, twoBack[column - 1] + 1)
            }
            current.append(best)
        }
        twoBack = last
        last = current
    }
    return last[right.count]
}

/// A text of several lines of source, joined without anything between them.
@resultBuilder
enum TextParts {
    static func buildBlock(_ parts: String...) -> String { parts.joined() }
}

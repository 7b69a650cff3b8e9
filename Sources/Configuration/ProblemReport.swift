/// Collects everything that is wrong while a configuration is read.
package final class ProblemReport {
    let inputs: ConfigurationInputs
    let file: String
    let substitution: Substitution
    package private(set) var problems: [ConfigurationProblem] = []

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
        file = inputs.path ?? ""
        substitution = Substitution(environment: inputs.environment)
    }

    func add(line: Int, key: String, _ text: String) {
        add(place(line), key: key, text)
    }

    func place(_ line: Int) -> ConfigurationProblem.Place {
        line == YAMLNode.decidedLine ? .decided : .file(file, line: line)
    }

    func add(_ place: ConfigurationProblem.Place, key: String = "", _ text: String) {
        problems.append(.init(place: place, key: key, text: text))
    }

    /// A setting with this path is wrong already: what depends on its value cannot be judged.
    func hasProblem(with key: String) -> Bool { problems.contains { $0.key == key } }

    /// Takes over the problems of options and variables that are set. They can be judged without the file.
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

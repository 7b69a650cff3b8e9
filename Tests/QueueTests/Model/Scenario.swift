import Queue

/// Settings and what happens then: all that a run depends on.
struct Scenario: Equatable {
    var settings = Settings()
    var operations: [Operation] = []
    /// What it came from, if it was random.
    var seed: UInt64 = 0
    /// After how many operations all that is on the disk is looked at.
    var auditEvery = 1

    /// Runs it next to a model, and throws where the queue does not do what the model says.
    func run() throws {
        let run = try ScenarioRun(settings, seed: seed, auditEvery: auditEvery)
        for (index, operation) in operations.enumerated() {
            do {
                try run.perform(operation)
            } catch let failure as ModelFailure {
                throw failure.at("operation \(index), \(operation.code)")
            }
        }
        do {
            try run.finish()
        } catch let failure as ModelFailure {
            throw failure.at("the end, when everything leaves")
        }
    }

    /// The same with a commit log. Damage of the disk is left out: it lasts only until the next
    /// start.
    var withCommitLog: Scenario {
        var other = self
        other.settings.hasCommitLog = true
        other.operations = operations.filter { operation in
            switch operation {
            case .damage, .salvage: false
            default: true
            }
        }
        return other
    }

    /// Why it fails; nil when it does not.
    var failure: String? {
        do {
            try run()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// A test that can be pasted.
    var code: String {
        """
        try Scenario(
            settings: \(codeOf(settings)),
            operations: [
                \(operations.map { $0.code + "," }.joined(separator: "\n        "))
            ]
        ).run()
        """
    }
}

struct ModelFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }

    func at(_ place: String) -> ModelFailure { ModelFailure("\(description) (at \(place))") }
}

/// Throws when it does not hold.
func check(_ holds: Bool, _ what: @autoclosure () -> String) throws(ModelFailure) {
    if !holds { throw ModelFailure(what()) }
}

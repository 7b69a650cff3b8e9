package import Configuration
import HTTP
package import Queue
package import System

/// The settings that operators decided at run time, as the queue's database keeps them.
package struct StoredDecisions: Sendable, Equatable {
    /// By destination. They override the file.
    package var settings: [String: DecidedSettings] = [:]
    /// Stored settings that do not fit the configuration any more, and have no effect.
    package var leftOut: [String: DecidedSettings] = [:]
    /// Paused destinations.
    package var held: Set<String> = []

    private static let destinationStart = "destination/"
    private static let heldStart = "held/"

    static func setting(ofDestination name: String) -> String { destinationStart + name }
    static func setting(ofHeld name: String) -> String { heldStart + name }

    init() {}

    /// Reads stored settings, and adds the names of unreadable ones to `unreadable`.
    init(_ stored: [String: [UInt8]], unreadable: inout [String]) {
        for (name, value) in stored {
            if name.hasPrefix(Self.heldStart) {
                held.insert(String(name.dropFirst(Self.heldStart.count)))
            } else if name.hasPrefix(Self.destinationStart) {
                let destination = String(name.dropFirst(Self.destinationStart.count))
                do {
                    settings[destination] = try DecidedSettings(json: value)
                } catch {
                    unreadable.append(name)
                }
            }
        }
    }
}

extension GatewayConfiguration {
    /// Applies stored decisions. One that does not fit the file any more is left out and named:
    /// accepting logs matters more.
    package mutating func takeDecided(
        from stored: [String: [UInt8]],
        _ reading: ConfigurationReading,
        _ journal: Journal
    ) -> StoredDecisions {
        var unreadable: [String] = []
        var decided = StoredDecisions(stored, unreadable: &unreadable)
        for name in unreadable {
            journal.error("a stored decision is unreadable and ignored", ["setting": name])
        }
        guard !decided.settings.isEmpty else { return decided }
        for name in decided.settings.keys.sorted()
        where !destinations.contains(where: { $0.name == name }) {
            journal.warning(
                "stored decisions name a destination that is not in the configuration",
                ["destination": name]
            )
            decided.leftOut[name] = decided.settings.removeValue(forKey: name)
        }
        var accepted: [String: DecidedSettings] = [:]
        for (name, settings) in decided.settings.sorted(by: { $0.key < $1.key }) {
            do throws(ConfigurationProblems) {
                let read = try reading(accepted.merging([name: settings]) { $1 }, false)
                accepted[name] = settings
                destinations = read.destinations
                credentials = read.credentials
            } catch {
                decided.leftOut[name] = settings
                for problem in error.problems {
                    journal.error(
                        "stored decisions conflict with the configuration and are ignored; reset or change them",
                        ["destination": name, "problem": problem.description]
                    )
                }
            }
        }
        decided.settings = accepted
        if !accepted.isEmpty {
            journal.info(
                "stored decisions override the configuration",
                ["destinations": accepted.keys.sorted().joined(separator: ", ")]
            )
        }
        return decided
    }
}

/// These wait for the queue's thread.
extension Decisions {
    func recall() throws(QueueError) -> [String: [UInt8]] {
        let outcome: Promise<Result<[String: [UInt8]], QueueError>>
        do throws(SystemError) {
            outcome = try Promise()
        } catch {
            throw QueueError(.io, "cannot wait for the queue: \(error).")
        }
        recall { outcome.bring($0) }
        return try outcome.wait().get()
    }

    /// For a start: damage may show only now, and then the queue needs a moment to rebuild itself.
    package func recall(within time: Duration) throws(QueueError) -> [String: [UInt8]] {
        let deadline = Moment.now + time
        while true {
            do throws(QueueError) {
                return try recall()
            } catch {
                guard Moment.now < deadline, let pause = try? WakeUp() else { throw error }
                pause.wait(timeout: .milliseconds(50))
            }
        }
    }

    /// Returns why the decision was not stored; nil when it was.
    package func store(_ decision: Decision) -> DecisionRefusal? {
        guard let outcome = try? Promise<DecisionRefusal?>() else { return .queue(.failing) }
        decide(decision) { outcome.bring($0) }
        return outcome.wait()
    }
}

extension DecisionRefusal {
    /// For operators.
    var reason: String {
        switch self {
        case .tooManySettings:
            "the limit of \(Decision.settingsMax) decisions is reached; reset some (DELETE "
                + "/admin/destinations/NAME, POST …/resume), or put the setting into the configuration file"
        case .tooLarge:
            "the decision exceeds \(Decision.valueBytesMax >> 10) KiB; put the settings into the configuration file"
        case .busy: "too many changes are waiting; try again in a moment"
        case .queue(let admission): admission.reason ?? "the queue cannot be written"
        }
    }
}

extension HTTPProblem {
    init(notStored refusal: DecisionRefusal) {
        let (status, code) =
            switch refusal {
            case .tooManySettings: (409, "TooManySettings")
            case .tooLarge: (400, "ParameterInvalid")
            case .busy, .queue: (503, "ServerBusy")
            }
        self.init(
            status,
            code,
            "the change cannot be stored and was not made: \(refusal.reason)"
        )
    }
}

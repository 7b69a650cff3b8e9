package import Configuration
import HTTP
import Queue
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
    /// Applies the decisions of an earlier life. A decision that does not fit the file any more is
    /// left out and named: accepting logs matters more.
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

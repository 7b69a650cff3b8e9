package import Configuration
package import System

extension GatewayConfiguration {
    /// Takes over what operators decided in an earlier life. What does not go with the file any more is left out
    /// and named: accepting logs matters more.
    package mutating func takeDecided(
        from stored: [String: [UInt8]],
        _ reading: ConfigurationReading,
        _ journal: Journal
    ) -> Decided {
        var unreadable: [String] = []
        var decided = Decided(stored, unreadable: &unreadable)
        for name in unreadable {
            journal.error("a decided setting cannot be read and is left out", ["setting": name])
        }
        guard !decided.settings.isEmpty else { return decided }
        for name in decided.settings.keys.sorted()
        where !destinations.contains(where: { $0.name == name }) {
            journal.warning(
                "settings are decided for a destination that is not in the configuration",
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
                        "decided settings are left out; reset them, or decide anew",
                        ["destination": name, "problem": problem.description]
                    )
                }
            }
        }
        decided.settings = accepted
        if !accepted.isEmpty {
            journal.info(
                "decided settings beat the configuration",
                ["destinations": accepted.keys.sorted().joined(separator: ", ")]
            )
        }
        return decided
    }
}

import Queue
import System

extension GatewayConfiguration {
    /// Takes over what operators decided in an earlier life. What does not go with the file any more is left out
    /// and named: accepting logs matters more.
    mutating func takeDecided(
        from store: LogStore,
        _ reading: ConfigurationReading,
        _ journal: Journal
    ) throws(StartProblem) -> Decided {
        let stored: [String: [UInt8]]
        do throws(QueueError) {
            stored = try store.recall()
        } catch {
            throw StartProblem(error.description)
        }
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
            decided.settings[name] = nil
        }
        do throws(ConfigurationProblems) {
            destinations = try reading(decided.settings).destinations
            journal.info(
                "decided settings beat the configuration",
                ["destinations": decided.settings.keys.sorted().joined(separator: ", ")]
            )
        } catch {
            for problem in error.problems {
                journal.error("decided settings are left out", ["problem": problem.description])
            }
            decided.settings = [:]
        }
        return decided
    }
}

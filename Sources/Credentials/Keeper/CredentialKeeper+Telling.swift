import System

/// The keeper's listeners.
struct Listeners {
    var changed: (@Sendable ([String]) -> Void)?
    var failing: (@Sendable (String, SourceProblem) -> Void)?
}

extension CredentialKeeper {
    func tell(_ names: [String]) {
        guard !names.isEmpty else { return }
        // Failed credentials that depend on a changed one retry at once.
        let waiting = table.withLock { table in
            table.entries.filter { _, entry in
                entry.failures > 0 && entry.source.caller.map(names.contains) == true
            }.map(\.key)
        }
        waiting.forEach(refreshNow)
        listeners.withLock { $0 }.changed?(names)
    }

    /// Records a failure; returns the number of failures in a row.
    func fail(_ name: String, _ problem: SourceProblem) -> Int {
        let (failures, isNews) = table.withLock { $0.fail(name, problem) }
        if isNews { listeners.withLock { $0 }.failing?(name, problem) }
        return failures
    }
}

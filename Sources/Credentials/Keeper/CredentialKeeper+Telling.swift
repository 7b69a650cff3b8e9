import System

/// Whom the keeper tells.
struct Listeners {
    var changed: (@Sendable ([String]) -> Void)?
    var failing: (@Sendable (String, SourceProblem) -> Void)?
}

extension CredentialKeeper {
    func tell(_ names: [String]) {
        guard !names.isEmpty else { return }
        // Those that stand on one of these and failed need not wait for their next try.
        let waiting = table.withLock { table in
            table.entries.filter { _, entry in
                entry.failures > 0 && entry.source.caller.map(names.contains) == true
            }.map(\.key)
        }
        waiting.forEach(refreshNow)
        listeners.withLock { $0 }.changed?(names)
    }

    /// Tells how many failures in a row there are now.
    func fail(_ name: String, _ problem: SourceProblem) -> Int {
        let (failures, isNews) = table.withLock { $0.fail(name, problem) }
        if isNews { listeners.withLock { $0 }.failing?(name, problem) }
        return failures
    }
}

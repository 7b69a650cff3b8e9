import SLS
import System

extension CredentialKeeper {
    func exchange(_ sources: [String: CredentialSource]) throws(KeeperProblem) {
        let old = table.withLock { $0.entries.mapValues(\.source) }
        let changed = sources.filter { old[$0.key] != $0.value }
        // The threads of old sources end before the new ones say something. Not under the lock: they may
        // be on their way to it.
        let leaving = attendants.withLock { attendants in
            let names = attendants.keys.filter { sources[$0] == nil || changed[$0] != nil }
            return names.compactMap { attendants.removeValue(forKey: $0) }
        }
        for attendant in leaving { attendant.stop() }

        table.withLock { $0.replace(sources) }
        var names: [String] = []
        for (name, source) in changed where !source.needsAttendant {
            if read(source, name) { names.append(name) }
        }
        do throws(SystemError) {
            for (name, source) in changed where source.needsAttendant {
                let attendant = try attendant(name, source)
                attendants.withLock { $0[name] = attendant }
            }
        } catch {
            throw KeeperProblem(
                "a thread for a credential cannot be started (\(error)); raise the limits of the process"
            )
        }
        tell(names.sorted())
    }

    /// For sources that are read from memory.
    private func read(_ source: CredentialSource, _ name: String) -> Bool {
        guard source != .admin, let interruption = try? Interruption() else { return false }
        let visit = SourceVisit(surroundings, interruption: interruption)
        do throws(SourceProblem) {
            let supplied = try visit.fetch(source)
            return table.withLock { $0.take(supplied, name, visit.now) }
        } catch {
            _ = fail(name, error)
            return false
        }
    }

    private func attendant(
        _ name: String,
        _ source: CredentialSource
    ) throws(SystemError) -> Attendant {
        try Attendant(
            name,
            source,
            surroundings,
            lookup: { [self] other in other == name ? nil : credential(named: other) },
            reports: Attendant.Reports(
                begin: { [self] in table.withLock { $0.beginRefresh(name) } },
                take: { [self] supplied in take(supplied, name) },
                fail: { [self] problem in fail(name, problem) },
                plan: { [self] time in table.withLock { $0.plan(name, nextTry: time) } }
            )
        )
    }

    private func take(_ supplied: SuppliedCredential, _ name: String) -> SuppliedCredential? {
        let now = surroundings.clock.now()
        let (isOther, kept) = table.withLock { table in
            (table.take(supplied, name, now), table.entries[name]?.supplied)
        }
        if isOther { tell([name]) }
        return kept
    }
}

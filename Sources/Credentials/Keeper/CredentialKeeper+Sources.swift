import SLS
import System

extension CredentialKeeper {
    func exchange(_ sources: [String: CredentialSource]) throws(KeeperProblem) {
        let old = table.withLock { $0.entries.mapValues(\.source) }
        let changed = sources.filter { old[$0.key] != $0.value }
        // Made before anything else changes, because it may fail for lack of descriptors.
        let coming = try makeAttendants(changed.filter(\.value.needsAttendant))
        // Old threads end before new ones report. They are stopped outside the lock, because they
        // may be waiting for it.
        let leaving = attendants.withLock { attendants in
            let names = attendants.keys.filter { sources[$0] == nil || changed[$0] != nil }
            return names.compactMap { attendants.removeValue(forKey: $0) }
        }
        Attendant.stop(leaving)

        table.withLock { $0.replace(sources) }
        // A restored name may bring back a credential with an activation time.
        resetTimer()
        var names: [String] = []
        for (name, source) in changed where !source.needsAttendant {
            if read(source, name) { names.append(name) }
        }
        attendants.withLock { $0.merge(coming) { _, new in new } }
        coming.values.forEach { $0.begin() }
        tell(names.sorted())
    }

    /// Makes all attendants or none.
    private func makeAttendants(
        _ sources: [String: CredentialSource]
    ) throws(KeeperProblem) -> [String: Attendant] {
        var made: [String: Attendant] = [:]
        do throws(SystemError) {
            for (name, source) in sources { made[name] = try attendant(name, source) }
            return made
        } catch {
            Attendant.stop(Array(made.values))
            throw KeeperProblem(
                "a thread for a credential cannot be started (\(error)); raise the limits of the process"
            )
        }
    }

    /// Reads a source that needs only memory.
    private func read(_ source: CredentialSource, _ name: String) -> Bool {
        guard source != .admin else { return false }
        let visit = SourceVisit(surroundings, interruption: end)
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

    private func take(
        _ supplied: SuppliedCredential,
        _ name: String
    ) -> (kept: SuppliedCredential, isRefused: Bool)? {
        let now = surroundings.clock.now()
        let (isOther, entry) = table.withLock { table in
            (table.take(supplied, name, now), table.entries[name])
        }
        if isOther { tell([name]) }
        return entry.flatMap { entry in
            entry.supplied.map { ($0, $0.fingerprint == entry.refusedFingerprint) }
        }
    }
}

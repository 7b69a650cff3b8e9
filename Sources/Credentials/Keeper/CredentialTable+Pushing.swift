import SLS
import System

extension CredentialTable {
    mutating func push(
        _ name: String,
        _ pushed: PushedCredential,
        _ now: WallTime
    ) throws(PushRefusal) {
        guard let entry = entries[name] else {
            throw .unknownName(name, known: entries.keys.sorted())
        }
        set(try entry.holding(pushed, now), name)
    }

    /// Restores a credential pushed before a restart, even for a name that only a later
    /// configuration may have.
    mutating func restore(
        _ name: String,
        _ pushed: PushedCredential,
        _ now: WallTime
    ) throws(PushRefusal) {
        guard let entry = entries[name] else {
            var entry = try (absentEntry(name) ?? Entry(.admin)).holding(pushed, now)
            entry.kept = .onDisk
            return setAbsent(entry, name)
        }
        set(try entry.holding(pushed, now), name)
        noteKept(name, .onDisk)
    }

    /// Discards the pushed credential; uses the configured source.
    mutating func forget(_ name: String) {
        setAbsent(nil, name)
        guard var entry = entries[name] else { return }
        (entry.pushed, entry.next, entry.kept) = (nil, nil, nil)
        entry.generation += 1
        set(entry, name)
    }

    /// The pushed credentials to keep over a restart, the one in use first.
    func pushed(_ name: String) -> [PushedCredential] {
        guard let entry = entries[name] ?? absentEntry(name) else { return [] }
        return [entry.pushed.map { PushedCredential($0) }, entry.next].compactMap(\.self)
    }

    /// Activates the credentials that are due and returns their names.
    mutating func activate(_ now: WallTime) -> [String] {
        var names: [String] = []
        for (name, var entry) in entries {
            guard let next = entry.next, let time = next.activation, time <= now else { continue }
            entry.pushed = next.supplied
            entry.next = nil
            set(entry, name)
            names.append(name)
        }
        return names.sorted()
    }

    var nextActivation: WallTime? {
        entries.values.compactMap { $0.next?.activation }.min()
    }
}

extension CredentialTable.Entry {
    fileprivate func holding(
        _ pushed: PushedCredential,
        _ now: WallTime
    ) throws(PushRefusal) -> Self {
        if let problem = pushed.supplied.credential.problem { throw .unsendable(problem) }
        if let end = pushed.supplied.usableUntil, end <= now { throw .expired(ago: now - end) }
        var entry = self
        if let time = pushed.activation, time > now {
            if pushed.supplied.isExpired(at: time) { throw .expiresBeforeActivation }
            entry.next = pushed
        } else {
            entry.pushed = pushed.supplied
        }
        entry.kept = .inMemory(reason: "it was pushed a moment ago")
        entry.generation += 1
        return entry
    }
}

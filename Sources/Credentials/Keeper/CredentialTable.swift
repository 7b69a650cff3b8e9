import SLS
import System

/// All credentials by name, and failures of their sources. A value without clock or threads.
struct CredentialTable {
    struct Entry {
        var source: CredentialSource
        var supplied: SuppliedCredential?
        var pushed: SuppliedCredential?
        var next: PushedCredential?
        var kept: CredentialStatus.Kept?
        var generation = 0
        /// The fingerprint of the refused credential; it does not apply to a new one.
        var refusedFingerprint: String?

        var isRefreshing = false
        var lastRefresh: WallTime?
        var problem: SourceProblem?
        var failures = 0
        var nextTry: WallTime?

        init(_ source: CredentialSource) {
            self.source = source
        }

        /// A pushed credential is in use until it is withdrawn.
        var current: SuppliedCredential? { pushed ?? supplied }
    }

    private(set) var entries: [String: Entry] = [:]
    /// Pushed credentials of names without a source; they return with their name.
    private var absent: [String: Entry] = [:]

    /// The names of pushed credentials that are stored.
    var storedNames: Set<String> {
        Set([entries, absent].flatMap { $0.filter { $0.value.kept == .onDisk }.keys })
    }

    /// Forgets an entry with nothing pushed, and one too many.
    private mutating func keepAbsent(_ entry: Entry, _ name: String) {
        let isPushed = entry.pushed != nil || entry.next != nil
        let hasRoom = absent[name] != nil || absent.count < CredentialKeeper.namesMax
        absent[name] = isPushed && hasRoom ? entry : nil
    }

    /// The credential to sign with; nil when there is none or it has expired.
    func usable(_ name: String, _ now: WallTime) -> SuppliedCredential? {
        guard let entry = entries[name] else { return nil }
        // The thread that activates credentials may run slightly late.
        let next = entry.next.flatMap {
            $0.activation.map { $0 <= now } ?? true ? $0.supplied : nil
        }
        guard let current = next ?? entry.current, !current.isExpired(at: now) else { return nil }
        return current
    }

    /// Replaces the sources. Each name keeps its credential until its new source gives one.
    mutating func replace(_ sources: [String: CredentialSource]) {
        for (name, entry) in entries where sources[name] == nil {
            entries[name] = nil
            var left = Entry(entry.source)
            (left.pushed, left.next, left.kept) = (entry.pushed, entry.next, entry.kept)
            left.generation = entry.generation
            keepAbsent(left, name)
        }
        for (name, source) in sources where entries[name]?.source != source {
            var entry = entries[name] ?? absent.removeValue(forKey: name) ?? Entry(source)
            entry.source = source
            (entry.problem, entry.failures, entry.nextTry) = (nil, 0, nil)
            entry.isRefreshing = false
            if source == .admin { entry.supplied = nil }
            entries[name] = entry
        }
    }

    mutating func beginRefresh(_ name: String) {
        entries[name]?.isRefreshing = true
    }

    /// Stores a credential from the source; returns whether the credential in use changed.
    mutating func take(_ new: SuppliedCredential, _ name: String, _ now: WallTime) -> Bool {
        guard var entry = entries[name] else { return false }
        let before = entry.current
        entry.isRefreshing = false
        entry.lastRefresh = now
        (entry.problem, entry.failures, entry.nextTry) = (nil, 0, nil)
        // A repeated credential is not younger, so its renewal stays due at the same time.
        let same = entry.supplied.flatMap { $0.isSame(as: new) ? $0.updated(from: new) : nil }
        entry.supplied = same ?? new
        entries[name] = entry
        return entry.current != before
    }

    /// Records a failure. Returns the number of failures in a row, and whether the reason differs
    /// from the previous one.
    mutating func fail(
        _ name: String,
        _ problem: SourceProblem
    ) -> (failures: Int, isNews: Bool) {
        guard var entry = entries[name] else { return (1, false) }
        let before = entry.problem
        entry.isRefreshing = false
        entry.problem = problem
        entry.failures += 1
        entries[name] = entry
        // The request id is not compared, because it always differs.
        let isNews = before?.what != problem.what || before?.words?.code != problem.words?.code
        return (entry.failures, isNews)
    }

    mutating func noteKept(_ name: String, _ kept: CredentialStatus.Kept) {
        entries[name]?.kept = kept
        absent[name]?.kept = kept
    }

    mutating func plan(_ name: String, nextTry: WallTime?) {
        entries[name]?.nextTry = nextTry
    }

    /// Returns whether the refused credential is still in use: a request may be signed before a
    /// rotation and refused after it.
    mutating func refuse(_ name: String, _ credential: Credential?) -> Bool {
        guard let current = entries[name]?.current else { return false }
        guard credential == nil || credential == current.credential else { return false }
        entries[name]?.refusedFingerprint = current.fingerprint
        return true
    }

    mutating func accept(_ name: String) {
        entries[name]?.refusedFingerprint = nil
    }

    mutating func push(
        _ name: String,
        _ pushed: PushedCredential,
        _ now: WallTime
    ) throws(PushRefusal) {
        guard let entry = entries[name] else {
            throw .unknownName(name, known: entries.keys.sorted())
        }
        entries[name] = try entry.holding(pushed, now)
    }

    /// Restores a credential pushed before a restart, even for a name that only a later
    /// configuration may have.
    mutating func restore(
        _ name: String,
        _ pushed: PushedCredential,
        _ now: WallTime
    ) throws(PushRefusal) {
        guard let entry = entries[name] else {
            var entry = try (absent[name] ?? Entry(.admin)).holding(pushed, now)
            entry.kept = .onDisk
            return keepAbsent(entry, name)
        }
        entries[name] = try entry.holding(pushed, now)
        noteKept(name, .onDisk)
    }

    /// Discards the pushed credential; uses the configured source.
    mutating func forget(_ name: String) {
        absent[name] = nil
        guard var entry = entries[name] else { return }
        (entry.pushed, entry.next, entry.kept) = (nil, nil, nil)
        entry.generation += 1
        entries[name] = entry
    }

    /// The pushed credentials to keep over a restart, the one in use first.
    func pushed(_ name: String) -> [PushedCredential] {
        guard let entry = entries[name] ?? absent[name] else { return [] }
        return [entry.pushed.map { PushedCredential($0) }, entry.next].compactMap(\.self)
    }

    /// Activates the credentials that are due and returns their names.
    mutating func activate(_ now: WallTime) -> [String] {
        var names: [String] = []
        for (name, var entry) in entries {
            guard let next = entry.next, let time = next.activation, time <= now else { continue }
            entry.pushed = next.supplied
            entry.next = nil
            entries[name] = entry
            names.append(name)
        }
        return names.sorted()
    }

    var nextActivation: WallTime? {
        entries.values.compactMap { $0.next?.activation }.min()
    }

    func status(_ now: WallTime) -> [CredentialStatus] {
        entries.map { status(of: $0.key, $0.value, now) }.sorted { $0.name < $1.name }
    }

    private func status(of name: String, _ entry: Entry, _ now: WallTime) -> CredentialStatus {
        var status = CredentialStatus(
            name: name,
            source: entry.source.kind,
            state: state(of: entry, now)
        )
        if let current = entry.current {
            status.origin = current.origin
            status.isPushed = entry.pushed != nil
            status.fingerprint = current.fingerprint
            status.shownID = current.shownID
            status.expiration = current.expiration
            status.secondsLeft = current.usableUntil.map { ($0 - now).components.seconds }
        }
        if let next = entry.next, let time = next.activation {
            status.next = .init(fingerprint: next.supplied.fingerprint, activation: time)
        }
        status.kept = entry.kept
        status.generation = entry.generation
        status.lastRefresh = entry.lastRefresh
        status.lastProblem = entry.problem
        status.failures = entry.failures
        status.nextTry = entry.nextTry
        return status
    }

    /// The worst state that applies.
    private func state(of entry: Entry, _ now: WallTime) -> CredentialStatus.State {
        guard let current = entry.current else {
            // After a failed attempt, a further attempt does not count as healthy.
            return entry.isRefreshing && entry.failures == 0 ? .refreshing : .missing
        }
        if current.isExpired(at: now) { return .expired }
        if entry.refusedFingerprint == current.fingerprint { return .refused }
        let isRefreshing = entry.isRefreshing && entry.pushed == nil
        if let due = current.refreshTime(), due <= now, !isRefreshing || entry.failures > 0 {
            return .expiring
        }
        return isRefreshing ? .refreshing : .ok
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

import SLS
import System

/// All credentials by name: from the sources, pushed ones, and failures. A value without clock or
/// threads.
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
    /// Pushed credentials of names without a source. They return with their name, as they would
    /// after a restart.
    private var absent: [String: Entry] = [:]

    mutating func set(_ entry: Entry, _ name: String) {
        entries[name] = entry
    }

    func absentEntry(_ name: String) -> Entry? { absent[name] }

    /// The names of pushed credentials that are stored.
    var storedNames: Set<String> {
        Set([entries, absent].flatMap { $0.filter { $0.value.kept == .onDisk }.keys })
    }

    /// Removes the entry if it is nil or has nothing pushed, or if there are too many.
    mutating func setAbsent(_ entry: Entry?, _ name: String) {
        let isKept = entry.map { $0.pushed != nil || $0.next != nil } ?? false
        let hasRoom = absent[name] != nil || absent.count < CredentialKeeper.namesMax
        absent[name] = isKept && hasRoom ? entry : nil
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
            setAbsent(left, name)
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
}

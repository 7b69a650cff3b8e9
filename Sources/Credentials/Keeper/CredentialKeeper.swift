package import SLS
package import System

/// The gateway's credentials by name. A look-up never waits: other threads talk to the sources.
package final class CredentialKeeper: Sendable {
    package static let namesMax = 64

    let table = Locked(CredentialTable())
    let context: SourceContext
    let threads = Locked<[String: SourceThread]>([:])
    private let listeners = Locked(Listeners())
    private let replacing = Locked(())
    private let timer: WakeUp
    /// Set when the keeper stops.
    let end: Interruption
    private let timekeeper = Locked<Worker?>(nil)

    /// Starts without sources; `replace` sets them.
    package init(_ context: SourceContext) throws(SystemError) {
        self.context = context
        timer = try WakeUp()
        end = try Interruption()
        let worker = try Worker("credentials") { [self] in keepTime() }
        timekeeper.withLock { $0 = worker }
    }

    /// Sets the listener for changed credentials. It is called on the thread that changed them, and
    /// must not stop the keeper or replace its sources.
    package func whenChanged(_ body: @escaping @Sendable ([String]) -> Void) {
        listeners.withLock { $0.changed = body }
    }

    /// Sets the listener for failing sources. It is not called again while the reason stays.
    package func whenFailing(_ body: @escaping @Sendable (String, SourceProblem) -> Void) {
        listeners.withLock { $0.failing = body }
    }

    /// The credential to sign with now; nil when there is none or it has expired.
    package func credential(named name: String) -> Credential? {
        supplied(named: name)?.credential
    }

    package func supplied(named name: String) -> SuppliedCredential? {
        let now = context.clock.now()
        return table.withLock { $0.usable(name, now) }
    }

    package var status: [CredentialStatus] {
        let now = context.clock.now()
        return table.withLock { $0.status(now) }
    }

    /// Replaces the sources. Unchanged sources are left alone; under a changed source the old
    /// credential stays in use until the new source gives one.
    package func replace(_ sources: [String: CredentialSource]) throws(KeeperProblem) {
        guard sources.count <= Self.namesMax else {
            throw KeeperProblem("there are more than \(Self.namesMax) credentials; use fewer names")
        }
        try replacing.withLock { _ throws(KeeperProblem) in try exchange(sources) }
    }

    /// Asks the source again soon; repeated calls count once.
    package func refreshNow(_ name: String) {
        threads.withLock { $0[name] }?.refresh()
    }

    /// Marks the credential as refused by SLS until it works or is replaced, and asks its source
    /// for a new one. Does nothing if `credential` is given and no longer in use.
    package func noteRefusal(_ name: String, of credential: Credential? = nil) {
        if table.withLock({ $0.refuse(name, credential) }) { refreshNow(name) }
    }

    package func noteSuccess(_ name: String) {
        table.withLock { $0.accept(name) }
    }

    /// Ends all threads. The table stays readable.
    package func stop() {
        end.set()
        timer.signal()
        timekeeper.withLock { $0.take() }?.join()
        replacing.withLock { _ in
            let all = threads.withLock { threads in
                defer { threads = [:] }
                return Array(threads.values)
            }
            SourceThread.stop(all)
        }
    }

    private func keepTime() {
        while !end.isSet {
            let now = context.clock.now()
            let (names, next) = table.withLock { ($0.activate(now), $0.nextActivation) }
            tell(names)
            if names.isEmpty { context.clock.sleep(timer, next) }
        }
    }

    // MARK: - Pushed credentials

    /// Uses a pushed credential, at once or from its activation on. It outranks the source until it
    /// is forgotten.
    package func push(_ name: String, _ pushed: PushedCredential) throws(PushRefusal) {
        let now = context.clock.now()
        let isOther = try table.withLock { table throws(PushRefusal) in
            let before = table.entries[name]?.current
            try table.push(name, pushed, now)
            return table.entries[name]?.current != before
        }
        timer.signal()
        if isOther { tell([name]) }
    }

    /// Restores a credential pushed before a restart, now or when its name is configured.
    package func restore(_ name: String, _ pushed: PushedCredential) throws(PushRefusal) {
        let now = context.clock.now()
        try table.withLock { table throws(PushRefusal) in try table.restore(name, pushed, now) }
        timer.signal()
    }

    /// Records for the status whether a pushed credential is on disk.
    package func noteKept(_ name: String, _ kept: CredentialStatus.Kept) {
        table.withLock { $0.noteKept(name, kept) }
    }

    /// The names of pushed credentials that are stored.
    package var storedNames: Set<String> { table.withLock(\.storedNames) }

    /// Discards the pushed credential; uses the configured source.
    package func forget(_ name: String) {
        forget(name) { _ in true }
    }

    /// Forgets a credential that was stored. One that was pushed a moment ago is not yet.
    package func forgetStored(_ name: String) -> Bool {
        forget(name) { $0.storedNames.contains(name) }
    }

    @discardableResult
    private func forget(_ name: String, if condition: (CredentialTable) -> Bool) -> Bool {
        let (isForgotten, isOther) = table.withLock { table in
            guard condition(table) else { return (false, false) }
            let before = table.entries[name]?.current
            table.forget(name)
            return (true, table.entries[name]?.current != before)
        }
        timer.signal()
        if isOther { tell([name]) }
        return isForgotten
    }

    /// The pushed credentials to keep over a restart, the one in use first.
    package func pushed(_ name: String) -> [PushedCredential] {
        table.withLock { $0.pushed(name) }
    }

    // MARK: - Proofs

    /// Names of the credentials that are roles obtained with this credential.
    package func roles(askedForBy name: String) -> [String] {
        table.withLock { table in
            table.entries.filter { $0.value.source.caller == name }.map(\.key).sorted()
        }
    }

    /// Requests a role as if `credential` were already in use under the name. The result is
    /// discarded: it only shows that STS accepts the caller. The call waits for STS, so no other
    /// work may depend on its thread.
    package func prove(
        _ credential: Credential,
        as name: String,
        for role: String,
        _ interruption: Interruption
    ) throws(SourceProblem) {
        guard let source = table.withLock({ $0.entries[role]?.source }) else { return }
        let fetch = CredentialFetch(context, interruption: interruption) { [self] other in
            other == name ? credential : self.credential(named: other)
        }
        _ = try fetch.credential(from: source)
    }

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

    func exchange(_ sources: [String: CredentialSource]) throws(KeeperProblem) {
        let old = table.withLock { $0.entries.mapValues(\.source) }
        let changed = sources.filter { old[$0.key] != $0.value }
        // Made before anything else changes, because it may fail for lack of descriptors.
        let coming = try makeThreads(changed.filter(\.value.needsThread))
        // Old threads end before new ones report. They are stopped outside the lock, because they
        // may be waiting for it.
        let leaving = threads.withLock { threads in
            let names = threads.keys.filter { sources[$0] == nil || changed[$0] != nil }
            return names.compactMap { threads.removeValue(forKey: $0) }
        }
        SourceThread.stop(leaving)

        table.withLock { $0.replace(sources) }
        // A restored name may bring back a credential with an activation time.
        timer.signal()
        var names: [String] = []
        for (name, source) in changed where !source.needsThread {
            if read(source, name) { names.append(name) }
        }
        threads.withLock { $0.merge(coming) { _, new in new } }
        coming.values.forEach { $0.begin() }
        tell(names.sorted())
    }

    /// Makes all threads or none.
    private func makeThreads(
        _ sources: [String: CredentialSource]
    ) throws(KeeperProblem) -> [String: SourceThread] {
        var made: [String: SourceThread] = [:]
        do throws(SystemError) {
            for (name, source) in sources { made[name] = try SourceThread(name, source, for: self) }
            return made
        } catch {
            SourceThread.stop(Array(made.values))
            throw KeeperProblem(
                "a thread for a credential cannot be started (\(error)); raise the limits of the process"
            )
        }
    }

    /// Reads a source that needs only memory.
    private func read(_ source: CredentialSource, _ name: String) -> Bool {
        guard source != .admin else { return false }
        let fetch = CredentialFetch(context, interruption: end)
        do throws(SourceProblem) {
            let supplied = try fetch.credential(from: source)
            return table.withLock { $0.take(supplied, name, fetch.now) }
        } catch {
            _ = fail(name, error)
            return false
        }
    }

    /// Stores a credential of a source's thread. Returns the one that is now in the table, whose
    /// end counts, and whether SLS refuses it.
    func take(
        _ supplied: SuppliedCredential,
        _ name: String
    ) -> (kept: SuppliedCredential, isRefused: Bool)? {
        let now = context.clock.now()
        let (isOther, entry) = table.withLock { table in
            (table.take(supplied, name, now), table.entries[name])
        }
        if isOther { tell([name]) }
        return entry.flatMap { entry in
            entry.supplied.map { ($0, $0.fingerprint == entry.refusedFingerprint) }
        }
    }
}

// MARK: - Listeners

/// The keeper's listeners.
private struct Listeners {
    var changed: (@Sendable ([String]) -> Void)?
    var failing: (@Sendable (String, SourceProblem) -> Void)?
}

/// Sources that the keeper cannot serve, in one sentence with the remedy.
package struct KeeperProblem: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

package import SLS
package import System

/// The credentials of the gateway by name, always at hand. Looking one up never waits: threads of its own
/// talk to the sources.
package final class CredentialKeeper: Sendable {
    package static let namesMax = 64

    let table = Locked(CredentialTable())
    let surroundings: Surroundings
    let attendants = Locked<[String: Attendant]>([:])
    let listeners = Locked(Listeners())
    private let replacing = Locked(())
    private let timer: WakeUp
    /// Set when everything ends.
    let end: Interruption
    private let timekeeper = Locked<Worker?>(nil)

    /// Without sources; `replace` brings them.
    package init(_ surroundings: Surroundings) throws(SystemError) {
        self.surroundings = surroundings
        timer = try WakeUp()
        end = try Interruption()
        let worker = try Worker("credentials") { [self] in keepTime() }
        timekeeper.withLock { $0 = worker }
    }

    /// Called with the names whose credential is another one than before, on the thread that changed it.
    /// It must not stop the keeper nor replace its sources.
    package func whenChanged(_ body: @escaping @Sendable ([String]) -> Void) {
        listeners.withLock { $0.changed = body }
    }

    /// Called when a source fails, on its thread; not again while it goes on failing for the same reason.
    package func whenFailing(_ body: @escaping @Sendable (String, SourceProblem) -> Void) {
        listeners.withLock { $0.failing = body }
    }

    /// The one to sign with now; nil while there is none, or only one that has expired.
    package func credential(named name: String) -> Credential? {
        supplied(named: name)?.credential
    }

    package func supplied(named name: String) -> SuppliedCredential? {
        let now = surroundings.clock.now()
        return table.withLock { $0.usable(name, now) }
    }

    package var status: [CredentialStatus] {
        let now = surroundings.clock.now()
        return table.withLock { $0.status(now) }
    }

    /// Uses these sources from now on. Those that are as before are left alone; where a source is
    /// another, its name's credential stays in use until the new source gives one.
    package func replace(_ sources: [String: CredentialSource]) throws(KeeperProblem) {
        guard sources.count <= Self.namesMax else {
            throw KeeperProblem("there are more than \(Self.namesMax) credentials; use fewer names")
        }
        try replacing.withLock { _ throws(KeeperProblem) in try exchange(sources) }
    }

    /// Asks the source again, soon; many times in a row is as good as once.
    package func refreshNow(_ name: String) {
        attendants.withLock { $0[name] }?.refresh()
    }

    /// SLS refused the credential: it shows so until there is another or this one works, and the source
    /// is asked for a new one. When `credential` is given and no longer in use, nothing happens.
    package func noteRefusal(_ name: String, of credential: Credential? = nil) {
        if table.withLock({ $0.refuse(name, credential) }) { refreshNow(name) }
    }

    package func noteSuccess(_ name: String) {
        table.withLock { $0.accept(name) }
    }

    /// Ends all threads. What is in the table stays readable.
    package func stop() {
        end.set()
        timer.signal()
        timekeeper.withLock { $0.take() }?.join()
        replacing.withLock { _ in
            let all = attendants.withLock { attendants in
                defer { attendants = [:] }
                return Array(attendants.values)
            }
            Attendant.stop(all)
        }
    }

    func resetTimer() {
        timer.signal()
    }

    private func keepTime() {
        while !end.isSet {
            let now = surroundings.clock.now()
            let (names, next) = table.withLock { ($0.activate(now), $0.nextActivation) }
            tell(names)
            if names.isEmpty { surroundings.clock.sleep(timer, next) }
        }
    }
}

/// Settings that the keeper cannot follow, in one sentence with the remedy.
package struct KeeperProblem: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

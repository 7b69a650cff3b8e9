package import Credentials
package import HTTP
package import Queue
import System

// What operators do to credentials. To be called on the helm's thread: what a change is meant for is looked at there,
// where no other is made.
extension Steering {
    /// What became of a rotation.
    package struct Rotation {
        package var proofs = Proofs()
        package var isProved: Bool { proofs.isProved }
        /// Kept over a restart.
        package var isStored = false
        /// Why not.
        package var reason: String?
    }

    /// Puts a credential in the place of the one in use, at once or from its activation on. What is in flight ends
    /// with the old one; what waits goes on at once.
    package func rotate(
        _ name: String,
        _ pushed: PushedCredential,
        _ proofs: Proofs,
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) -> Rotation {
        let before = try known(name)
        try condition.check(before.version)
        // What was decided while the proof took its time is newer.
        if let generation = proofs.generation, generation != before.generation {
            throw .changedMeanwhile
        }
        var rotation = Rotation()
        rotation.proofs = proofs
        try refuseExpired(pushed)
        do throws(PushRefusal) {
            try keeper.push(name, pushed)
        } catch {
            throw HTTPProblem(error)
        }
        var entry = entry
        entry.before = before.fingerprint ?? ""
        entry.after = pushed.supplied.fingerprint + (rotation.isProved ? "" : ", unproved")
        (rotation.isStored, rotation.reason) = keep(name, entry)
        return rotation
    }

    /// Lets the source that the configuration describes have the word again, also of a name that it does not
    /// describe any more.
    package func forgetCredential(
        _ name: String,
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) {
        let before = keeper.status.first { $0.name == name }
        let settings = [false, true].map { StoredCredential.setting(of: name, isNext: $0) }
        if before == nil {
            let stored = (try? store.recall()) ?? [:]
            guard
                settings.contains(where: { stored[$0] != nil }) || !keeper.pushed(name).isEmpty
            else {
                throw .noCredential(name, keeper.status.map(\.name))
            }
        }
        try condition.check(before?.version)
        var entry = entry
        entry.before = before?.fingerprint ?? ""
        entry.after = before.map { "as configured: \($0.source)" } ?? ""
        // What is stored would come back with a restart, so that goes first.
        if let refusal = store.store(Decision(resets: Set(settings), entry)) {
            throw HTTPProblem(notStored: refusal)
        }
        keeper.forget(name)
        audit.tell(entry)
    }

    package func known(_ name: String) throws(HTTPProblem) -> CredentialStatus {
        let all = keeper.status
        guard let status = all.first(where: { $0.name == name }) else {
            throw .noCredential(name, all.map(\.name))
        }
        return status
    }

    func refuseExpired(_ pushed: PushedCredential) throws(HTTPProblem) {
        let now = WallTime.now
        guard pushed.supplied.isExpired(at: now), let expiration = pushed.supplied.expiration
        else { return }
        throw HTTPProblem(PushRefusal.expired(ago: now - expiration))
    }

    /// Stores what is pushed now, where it may be, and the line of the audit log.
    private func keep(_ name: String, _ entry: AuditEntry) -> (isStored: Bool, reason: String?) {
        let kept = storePushed(name, entry)
        if kept.isStored {
            keeper.noteKept(name, .onDisk)
        } else if let reason = kept.reason {
            keeper.noteKept(name, .inMemory(reason: reason))
        }
        return kept
    }

    private func storePushed(
        _ name: String,
        _ entry: AuditEntry
    ) -> (isStored: Bool, reason: String?) {
        audit.tell(entry)
        var settings: [String: [UInt8]] = [:]
        var resets = Set([false, true].map { StoredCredential.setting(of: name, isNext: $0) })
        let pushed = keeper.pushed(name)
        for each in box == nil ? [] : pushed {
            let isNext = each.activation.map { $0 > WallTime.now } ?? false
            let setting = StoredCredential.setting(of: name, isNext: isNext)
            settings[setting] = box?.seal(each, name: name)
            resets.remove(setting)
        }
        if let refusal = store.store(Decision(settings, resets: resets, entry)) {
            audit.missing(entry, refusal.reason)
            return (
                false, "\(refusal.reason); an older one that is stored comes back with a restart"
            )
        }
        if pushed.isEmpty { return (false, nil) }
        return box == nil ? (false, "there is no credentials.encryption_key") : (true, nil)
    }
}

extension HTTPProblem {
    static let changedMeanwhile = HTTPProblem(
        409,
        "CredentialChanged",
        "somebody changed the credential while this one was proved, and that one stays; look at it again"
    )

    static func noCredential(_ name: String, _ known: [String]) -> HTTPProblem {
        HTTPProblem(
            404,
            "CredentialNotExist",
            PushRefusal.unknownName(clipped(name), known: known).description
        )
    }

    package init(_ refusal: PushRefusal) {
        let (status, code) =
            switch refusal {
            case .unknownName: (404, "CredentialNotExist")
            case .expired, .expiresBeforeActivation: (400, "CredentialExpired")
            default: (400, "CredentialInvalid")
            }
        self.init(status, code, refusal.description)
    }
}

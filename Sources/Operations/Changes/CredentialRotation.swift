import Configuration
package import Credentials
import Crypto
package import Delivery
package import HTTP
package import Queue
import SLS
import System

/// Replaces credentials at run time: proves, uses and stores a new one, or forgets it.
package struct CredentialRotation: Sendable {
    /// The result of a rotation.
    package struct Outcome {
        package let proofs: CredentialProofs
        package var isProved: Bool { proofs.isProved }
        /// True: the credential survives a restart.
        package let isStored: Bool
        /// Why it is not stored.
        package let reason: String?
    }

    package let keeper: CredentialKeeper
    private let parts: GatewayParts
    private let inquiry: CredentialInquiry
    private let audit: AuditTrail

    package init(_ parts: GatewayParts, _ audit: AuditTrail) {
        keeper = parts.keeper
        self.parts = parts
        inquiry = CredentialInquiry(parts)
        self.audit = audit
    }

    package func status(of name: String) throws(HTTPProblem) -> CredentialStatus {
        let all = keeper.status
        guard let status = all.first(where: { $0.name == name }) else {
            throw .noCredential(name, all.map(\.name))
        }
        return status
    }

    /// Asks SLS and STS, and throws why the credential must not be used. On the thread of proofs.
    package func prove(
        _ pushed: PushedCredential,
        for name: String,
        if condition: IfMatch
    ) throws(HTTPProblem) -> CredentialProofs {
        let before = try status(of: name)
        // First, so that an operator does not wait for proofs of a change that is refused anyway.
        try condition.check(before.version)
        try refuseExpired(pushed)
        var proofs = try inquiry.ask(pushed.supplied.credential, as: name)
        try inquiry.judge(proofs, before)
        proofs.generation = before.generation
        return proofs
    }

    /// Asks SLS and STS whether they accept the credential in use. On the thread of proofs.
    package func verify(_ name: String) throws(HTTPProblem) -> CredentialProofs {
        _ = try status(of: name)
        return try inquiry.ask(try credential(name), as: name)
    }

    private func credential(_ name: String) throws(HTTPProblem) -> Credential {
        if let credential = keeper.credential(named: name) { return credential }
        let reason = keeper.absence(of: name) ?? "there is no credential"
        throw .conflict("CredentialMissing", reason)
    }

    /// Tests a destination without delivering a log. On the thread of proofs.
    package func test(destination name: String) throws(HTTPProblem) -> DestinationTest {
        guard let destination = inquiry.destination(name) else {
            throw .notFound(
                "DestinationNotExist",
                "no destination \(clipped(name)) is configured"
            )
        }
        guard destination.kind == .sls else { return try inquiry.test(destination) }
        guard let proof = try inquiry.test(destination, try credential(destination.credential))
        else {
            throw .busy("the test was not made; retry")
        }
        return proof
    }

    /// Puts a credential in the place of the one in use, at once or at its activation. Requests in
    /// flight end with the old one; waiting packets are sent at once. On the thread of changes, so
    /// that no other change comes between the check of `condition` and the rotation.
    package func push(
        _ name: String,
        _ pushed: PushedCredential,
        proved proofs: CredentialProofs,
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) -> Outcome {
        let before = try status(of: name)
        try condition.check(before.version)
        // A change that was made during the proof is newer.
        if let generation = proofs.generation, generation != before.generation {
            throw .changedMeanwhile
        }
        try refuseExpired(pushed)
        guard parts.box != nil || !parts.store.decisions.areDecisionsShared else {
            throw .notShared
        }
        do throws(PushRefusal) {
            try keeper.push(name, pushed)
        } catch {
            throw HTTPProblem(error)
        }
        var entry = entry
        entry.before = before.fingerprint ?? ""
        entry.after = pushed.supplied.fingerprint + (proofs.isProved ? "" : ", unproved")
        let (isStored, reason) = keep(name, entry)
        return Outcome(proofs: proofs, isStored: isStored, reason: reason)
    }

    /// Goes back to the configured source, also for a name that is not configured any more. On the
    /// thread of changes.
    package func forget(
        _ name: String,
        if condition: IfMatch,
        _ entry: AuditEntry
    ) throws(HTTPProblem) {
        let before = keeper.status.first { $0.name == name }
        let settings = [false, true].map { StoredCredential.setting(of: name, isNext: $0) }
        if before == nil {
            let stored = (try? parts.store.decisions.recall()) ?? [:]
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
        // The stored one first: a restart would bring it back.
        if let refusal = parts.store.decisions.store(Decision(resets: Set(settings), entry)) {
            throw HTTPProblem(notStored: refusal)
        }
        keeper.forget(name)
        audit.tell(entry)
    }

    private func refuseExpired(_ pushed: PushedCredential) throws(HTTPProblem) {
        let now = WallTime.now
        guard pushed.supplied.isExpired(at: now), let expiration = pushed.supplied.expiration
        else { return }
        throw HTTPProblem(PushRefusal.expired(ago: now - expiration))
    }

    /// Stores the credential, if there is a key to seal it with, and the line of the audit log.
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
        for each in parts.box == nil ? [] : pushed {
            let isNext = each.activation.map { $0 > WallTime.now } ?? false
            let setting = StoredCredential.setting(of: name, isNext: isNext)
            settings[setting] = parts.box?.seal(each, name: name)
            resets.remove(setting)
        }
        if let refusal = parts.store.decisions.store(Decision(settings, resets: resets, entry)) {
            audit.missing(entry, refusal.reason)
            return (
                false, "\(refusal.reason); a restart brings back the credential stored before"
            )
        }
        if pushed.isEmpty { return (false, nil) }
        return parts.box == nil ? (false, "credentials.encryption_key is not set") : (true, nil)
    }
}

extension HTTPProblem {
    fileprivate static let changedMeanwhile = conflict(
        "CredentialChanged",
        "another change replaced the credential during the proof and stays; read the credential and retry"
    )

    /// The other gateways would go on with the old one.
    fileprivate static let notShared = conflict(
        "EncryptionKeyMissing",
        "credentials.encryption_key is not set, so the credential cannot be given to the other gateways of the "
            + "cluster; set the same key at all of them"
    )

    fileprivate static func noCredential(_ name: String, _ known: [String]) -> HTTPProblem {
        notFound(
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

extension CredentialStatus {
    /// Every life of the process counts generations from zero.
    private static let life = hex(randomBytes(4))

    /// Changes with operators' decisions, not with what a source does; made of nothing secret.
    package var version: String {
        let parts = [name, source, "\(generation)", Self.life]
        return "\"\(Digest.sha256Hex(parts.joined(separator: "\n")).prefix(16))\""
    }
}

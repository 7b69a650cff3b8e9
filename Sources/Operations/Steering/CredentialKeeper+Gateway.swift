package import Credentials
import Crypto
package import Delivery
package import Queue
import SLS
package import System

extension CredentialKeeper {
    /// Changes wake those that wait; what goes wrong is told.
    package func tell(_ forwarder: Forwarder, _ journal: Journal) {
        whenChanged { [weak forwarder] names in
            forwarder?.credentialsChanged()
            for name in names { journal.info("credential changed", ["credential": name]) }
        }
        whenFailing { name, problem in
            journal.warning(
                "credential cannot be fetched",
                ["credential": name, "problem": problem.what, "remedy": problem.remedy]
            )
        }
    }

    /// So long ago must the end be before what is stored is thrown away: a host that just started may have the time
    /// of another zone.
    private static let expiredMin: Duration = .seconds(86_400)

    /// Uses what was pushed in an earlier life. Returns the settings that are good for nothing any more.
    package func takeStored(
        from stored: [String: [UInt8]],
        _ box: SecretBox?,
        _ journal: Journal
    ) -> Set<String> {
        var useless: Set<String> = []
        // The one in use before the next one, which may have taken its place meanwhile.
        let inUse = stored.filter { !StoredCredential.isNext($0.key) }
        let next = stored.filter { StoredCredential.isNext($0.key) }
        for (setting, sealed) in Array(inUse) + Array(next) {
            guard let name = StoredCredential.name(ofSetting: setting),
                let problem = take(sealed, name, box)
            else { continue }
            if problem.isForGood { useless.insert(setting) }
            journal.warning(
                "a stored credential is \(problem.isForGood ? "thrown away" : "left out")",
                ["credential": name, "reason": problem.reason]
            )
        }
        return useless
    }

    /// Nil when it was taken.
    private func take(
        _ sealed: [UInt8],
        _ name: String,
        _ box: SecretBox?
    ) -> (reason: String, isForGood: Bool)? {
        func closed(_ reason: String) -> (reason: String, isForGood: Bool) {
            noteKept(name, .closed(reason: reason))
            return (reason, false)
        }
        guard let box else { return closed("there is no credentials.encryption_key") }
        let pushed: PushedCredential
        do throws(SecretBoxProblem) {
            pushed = try box.open(sealed, name: name)
        } catch {
            return closed(error.description)
        }
        do throws(PushRefusal) {
            try restore(name, pushed)
            return nil
        } catch {
            guard case .expired(let ago) = error else { return (error.description, false) }
            return (error.description, ago > Self.expiredMin)
        }
    }

    /// Why there is no credential of the name.
    func absence(of name: String) -> String? {
        guard let status = status.first(where: { $0.name == name }) else { return nil }
        if let left = status.secondsLeft, left <= 0 {
            return "the credential '\(name)' expired \(-left) s ago; \(status.remedy)"
        }
        if let problem = status.lastProblem {
            return "credential '\(name)': \(problem.description)"
        }
        if case .closed(let reason) = status.kept {
            return "the credential '\(name)' that was pushed stays closed: \(reason)"
        }
        return status.source == "admin"
            ? "the credential '\(name)' waits to be pushed; \(status.remedy)"
            : "the credential '\(name)' is being fetched"
    }
}

extension CredentialStatus {
    /// What helps. A pushed credential would outrank a source that renews itself, so that one is looked after
    /// first.
    var remedy: String {
        let renewsItself = !["environment", "static", "admin"].contains(source)
        if renewsItself, !isPushed {
            return lastProblem?.remedy
                ?? "see the last problem of its source: sluice credentials show \(name)"
        }
        return "rotate it: sluice rotate \(name) --file FILE"
    }
}

extension AuditEntry {
    /// What the gateway does by itself at a start.
    package static func expired(_ names: [String]) -> AuditEntry {
        AuditEntry(
            actor: "gateway",
            address: "",
            action: "forget",
            subject: "credential \(names.joined(separator: ", "))",
            before: "expired"
        )
    }
}

/// Names of settings in which pushed credentials are kept, sealed.
package enum StoredCredential {
    private static let start = "credential/"
    private static let nextStart = "credential-next/"

    static func setting(of name: String, isNext: Bool) -> String {
        (isNext ? nextStart : start) + name
    }

    static func isNext(_ setting: String) -> Bool { setting.hasPrefix(nextStart) }

    package static func name(ofSetting setting: String) -> String? {
        for start in [start, nextStart] where setting.hasPrefix(start) {
            return String(setting.dropFirst(start.count))
        }
        return nil
    }
}

extension CredentialDoor {
    package init(_ keeper: CredentialKeeper) {
        self.init { keeper.credential(named: $0) }
        absence = { keeper.absence(of: $0) }
        refused = { keeper.noteRefusal($0, of: $1) }
        accepted = { keeper.noteSuccess($0) }
    }
}

package import Credentials
import Crypto
package import Delivery
package import Queue
package import System

/// The settings in which the queue's database keeps pushed credentials, sealed.
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

extension CredentialKeeper {
    /// A stored credential is thrown away only when it expired this long ago: a host that just
    /// started may have the time of another zone.
    private static let expiredMin: Duration = .seconds(86_400)

    /// Uses the credentials of before the restart. Returns the settings to delete, none with
    /// `keepsExpired`.
    package func takeStored(
        from stored: [String: [UInt8]],
        _ box: SecretBox?,
        keepsExpired: Bool,
        _ journal: Journal
    ) -> Set<String> {
        var useless: Set<String> = []
        // The one in use before the next one, which may have become due meanwhile.
        let inUse = stored.filter { !StoredCredential.isNext($0.key) }
        let next = stored.filter { StoredCredential.isNext($0.key) }
        for (setting, sealed) in Array(inUse) + Array(next) {
            guard let name = StoredCredential.name(ofSetting: setting) else { continue }
            do throws(Refusal) {
                try take(sealed, name, box)
            } catch {
                let isUseless = error.isForGood && !keepsExpired
                if isUseless { useless.insert(setting) }
                journal.warning(
                    "stored credential \(isUseless ? "deleted" : "ignored")",
                    ["credential": name, "reason": error.reason]
                )
            }
        }
        return useless
    }

    /// Uses the stored credentials of all gateways, this one's included.
    func takeShared(_ stored: [String: [UInt8]], _ box: SecretBox?, _ journal: Journal) {
        let ordered = stored.sorted { left, right in
            !StoredCredential.isNext(left.key) && StoredCredential.isNext(right.key)
        }
        for (setting, sealed) in ordered {
            guard let name = StoredCredential.name(ofSetting: setting) else { continue }
            do throws(Refusal) {
                let new = try open(sealed, name, box)
                let isKnown = pushed(name).contains {
                    $0.supplied.fingerprint == new.supplied.fingerprint
                }
                guard !isKnown else { continue }
                do throws(PushRefusal) {
                    try push(name, new)
                } catch {
                    throw Refusal(reason: error.description, isForGood: false)
                }
                noteKept(name, .onDisk)
                journal.info("credential rotated at another gateway", ["credential": name])
            } catch {
                journal.warning(
                    "credential of another gateway ignored",
                    ["credential": name, "reason": error.reason]
                )
            }
        }
    }

    private struct Refusal: Error {
        let reason: String
        let isForGood: Bool
    }

    private func take(
        _ sealed: [UInt8],
        _ name: String,
        _ box: SecretBox?
    ) throws(Refusal) {
        let stored = try open(sealed, name, box)
        do throws(PushRefusal) {
            try restore(name, stored)
        } catch {
            var isForGood = false
            if case .expired(let ago) = error { isForGood = ago > Self.expiredMin }
            throw Refusal(reason: error.description, isForGood: isForGood)
        }
    }

    private func open(
        _ sealed: [UInt8],
        _ name: String,
        _ box: SecretBox?
    ) throws(Refusal) -> PushedCredential {
        func closed(_ reason: String) -> Refusal {
            noteKept(name, .closed(reason: reason))
            return Refusal(reason: reason, isForGood: false)
        }
        guard let box else { throw closed("credentials.encryption_key is not set") }
        do throws(SecretBoxProblem) {
            return try box.open(sealed, name: name)
        } catch {
            throw closed(error.description)
        }
    }
}

extension AuditEntry {
    /// The gateway itself deletes expired credentials at a start.
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

// The credentials of the keeper, as delivery uses them and hears of them.
extension CredentialDoor {
    package init(_ keeper: CredentialKeeper) {
        self.init { keeper.credential(named: $0) }
        absence = { keeper.absence(of: $0) }
        refused = { keeper.noteRefusal($0, of: $1) }
        accepted = { keeper.noteSuccess($0) }
    }
}

extension CredentialKeeper {
    /// Wakes delivery when a credential changes, and writes changes and failures into the journal.
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

    /// Why there is no credential of this name; nil for an unknown name.
    func absence(of name: String) -> String? {
        guard let status = status.first(where: { $0.name == name }) else { return nil }
        if let left = status.secondsLeft, left <= 0 {
            return "the credential '\(name)' expired \(-left) s ago; \(status.remedy)"
        }
        if let problem = status.lastProblem {
            return "credential '\(name)': \(problem.description)"
        }
        if case .closed(let reason) = status.kept {
            return "the stored credential '\(name)' cannot be opened: \(reason)"
        }
        return status.source == "admin"
            ? "the credential '\(name)' has not been pushed yet; \(status.remedy)"
            : "the credential '\(name)' is being fetched"
    }
}

extension CredentialStatus {
    /// What an operator can do. A source that renews itself is repaired first, since a pushed
    /// credential would outrank it.
    var remedy: String {
        let renewsItself = !["environment", "static", "admin"].contains(source)
        if renewsItself, !isPushed {
            return lastProblem?.remedy
                ?? "see the last problem of its source: sluice credentials show \(name)"
        }
        return "rotate it: sluice rotate \(name) --file FILE"
    }
}

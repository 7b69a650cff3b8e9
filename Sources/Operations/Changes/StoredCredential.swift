package import Credentials
import Crypto
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
    /// A stored credential is thrown away only when it expired this long ago: a host that just started may have the
    /// time of another zone.
    private static let expiredMin: Duration = .seconds(86_400)

    /// Uses the credentials that were pushed before the restart. Returns the settings that can be deleted.
    package func takeStored(
        from stored: [String: [UInt8]],
        _ box: SecretBox?,
        _ journal: Journal
    ) -> Set<String> {
        var useless: Set<String> = []
        // The one in use before the next one, which may have become due meanwhile.
        let inUse = stored.filter { !StoredCredential.isNext($0.key) }
        let next = stored.filter { StoredCredential.isNext($0.key) }
        for (setting, sealed) in Array(inUse) + Array(next) {
            guard let name = StoredCredential.name(ofSetting: setting),
                let problem = take(sealed, name, box)
            else { continue }
            if problem.isForGood { useless.insert(setting) }
            journal.warning(
                "stored credential \(problem.isForGood ? "deleted" : "ignored")",
                ["credential": name, "reason": problem.reason]
            )
        }
        return useless
    }

    /// Uses the credentials that were pushed to another gateway.
    func takeShared(_ stored: [String: [UInt8]], _ box: SecretBox?, _ journal: Journal) {
        let ordered = stored.sorted { left, right in
            !StoredCredential.isNext(left.key) && StoredCredential.isNext(right.key)
        }
        for (setting, sealed) in ordered {
            guard let name = StoredCredential.name(ofSetting: setting) else { continue }
            if let problem = take(sealed, name, box, isShared: true) {
                journal.warning(
                    "credential of another gateway ignored",
                    ["credential": name, "reason": problem.reason]
                )
            } else {
                noteKept(name, .onDisk)
                journal.info("credential rotated at another gateway", ["credential": name])
            }
        }
    }

    /// nil: the credential is in use.
    private func take(
        _ sealed: [UInt8],
        _ name: String,
        _ box: SecretBox?,
        isShared: Bool = false
    ) -> (reason: String, isForGood: Bool)? {
        func closed(_ reason: String) -> (reason: String, isForGood: Bool) {
            noteKept(name, .closed(reason: reason))
            return (reason, false)
        }
        guard let box else { return closed("credentials.encryption_key is not set") }
        let pushed: PushedCredential
        do throws(SecretBoxProblem) {
            pushed = try box.open(sealed, name: name)
        } catch {
            return closed(error.description)
        }
        do throws(PushRefusal) {
            if isShared { try push(name, pushed) } else { try restore(name, pushed) }
            return nil
        } catch {
            guard case .expired(let ago) = error else { return (error.description, false) }
            return (error.description, ago > Self.expiredMin)
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

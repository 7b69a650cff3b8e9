import Credentials
import Delivery
import Queue
import SLS
import System

extension CredentialKeeper {
    /// Changes wake those that wait; what goes wrong is told.
    func tell(_ forwarder: Forwarder, _ journal: Journal) {
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

    /// Uses what was pushed in an earlier life.
    func takeStored(from stored: [String: [UInt8]], _ box: SecretBox?, _ journal: Journal) {
        // The one in use before the next one, which may have taken its place meanwhile.
        let inUse = stored.filter { !StoredCredential.isNext($0.key) }
        let next = stored.filter { StoredCredential.isNext($0.key) }
        for (setting, sealed) in Array(inUse) + Array(next) {
            guard let name = StoredCredential.name(ofSetting: setting) else { continue }
            guard let box else {
                journal.warning(
                    "a stored credential is left out, because there is no credentials.encryption_key",
                    ["credential": name]
                )
                continue
            }
            do {
                try push(name, try box.open(sealed, name: name))
            } catch {
                journal.warning(
                    "a stored credential is left out",
                    ["credential": name, "reason": "\(error)"]
                )
            }
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

/// Names of settings in which pushed credentials are kept, sealed.
enum StoredCredential {
    private static let start = "credential/"
    private static let nextStart = "credential-next/"

    static func setting(of name: String, isNext: Bool) -> String {
        (isNext ? nextStart : start) + name
    }

    static func isNext(_ setting: String) -> Bool { setting.hasPrefix(nextStart) }

    static func name(ofSetting setting: String) -> String? {
        for start in [start, nextStart] where setting.hasPrefix(start) {
            return String(setting.dropFirst(start.count))
        }
        return nil
    }
}

extension CredentialDoor {
    init(_ keeper: CredentialKeeper) {
        self.init { keeper.credential(named: $0) }
        absence = { keeper.absence(of: $0) }
        refused = { keeper.noteRefusal($0, of: $1) }
        accepted = { keeper.noteSuccess($0) }
    }
}

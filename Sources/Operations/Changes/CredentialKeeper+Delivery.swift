package import Credentials
package import Delivery
package import System

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

import System

/// Tells operators about resolvers, once when one begins to fail and once when it works again.
struct NameNotices {
    private var failing: Set<String> = []
    private var refused: Set<String> = []
    private var isSaving = true

    private static let refusedMax = 256

    mutating func note(_ resolver: Resolver, _ result: ServerQuery.Result, _ journal: Journal) {
        for host in resolver.takeRefusedHosts().sorted() where refused.count < Self.refusedMax {
            guard refused.insert("\(resolver.name) \(host)").inserted else { continue }
            journal.warning(
                "resolver answered addresses of a private network, which are not used",
                [
                    "resolver": resolver.name, "host": host,
                    "remedy": "if they are right, set allow_private: true for this resolver",
                ]
            )
        }
        switch result {
        case .failure(let failure):
            guard failing.insert(resolver.name).inserted else { return }
            journal.warning(
                "resolver does not answer",
                ["resolver": resolver.name, "reason": failure.code, "remedy": failure.remedy]
            )
        case .success:
            guard failing.remove(resolver.name) != nil else { return }
            journal.info("resolver answers again", ["resolver": resolver.name])
        }
    }

    mutating func notSaved(_ path: String, _ error: SystemError, _ journal: Journal) {
        guard isSaving else { return }
        isSaving = false
        journal.warning(
            "addresses of hosts cannot be kept for the next start",
            ["path": path, "reason": error, "remedy": "check the disk"]
        )
    }
}

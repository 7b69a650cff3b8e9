import System

extension CredentialKeeper {
    /// Uses a pushed credential, at once or from its activation on. It outranks the source until it is forgotten.
    package func push(_ name: String, _ pushed: PushedCredential) throws(PushRefusal) {
        let now = surroundings.clock.now()
        let isOther = try table.withLock { table throws(PushRefusal) in
            let before = table.entries[name]?.current
            try table.push(name, pushed, now)
            return table.entries[name]?.current != before
        }
        resetTimer()
        if isOther { tell([name]) }
    }

    /// Restores a credential that was pushed before a restart, now or when its name is configured again.
    package func restore(_ name: String, _ pushed: PushedCredential) throws(PushRefusal) {
        let now = surroundings.clock.now()
        try table.withLock { table throws(PushRefusal) in try table.restore(name, pushed, now) }
        resetTimer()
    }

    /// Records for the status whether a pushed credential is on disk.
    package func noteKept(_ name: String, _ kept: CredentialStatus.Kept) {
        table.withLock { $0.noteKept(name, kept) }
    }

    /// Discards the pushed credential; uses the configured source.
    package func forget(_ name: String) {
        let isOther = table.withLock { table in
            let before = table.entries[name]?.current
            table.forget(name)
            return table.entries[name]?.current != before
        }
        resetTimer()
        if isOther { tell([name]) }
    }

    /// The pushed credentials to keep over a restart, the one in use first.
    package func pushed(_ name: String) -> [PushedCredential] {
        table.withLock { $0.pushed(name) }
    }
}

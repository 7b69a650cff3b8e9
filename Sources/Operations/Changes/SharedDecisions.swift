package import Configuration
package import Credentials
import Crypto
package import Delivery
import Queue
package import System

/// Applies what operators decided at other gateways of a cluster. Runs on the thread of changes.
package struct SharedDecisions: Sendable {
    private let decided: Locked<StoredDecisions>
    private let reading: ConfigurationReading
    private let reload: ConfigurationReload
    private let forwarder: Forwarder
    private let keeper: CredentialKeeper
    private let box: SecretBox?
    private let journal: Journal
    /// Stored credentials as they were applied last, by their settings.
    private let applied: Locked<[String: [UInt8]]>

    /// `stored` is what was applied at the start.
    package init(
        _ stored: [String: [UInt8]],
        _ decided: Locked<StoredDecisions>,
        _ reading: @escaping ConfigurationReading,
        _ reload: ConfigurationReload,
        _ forwarder: Forwarder,
        _ keeper: CredentialKeeper,
        _ box: SecretBox?,
        _ journal: Journal
    ) {
        self.decided = decided
        self.reading = reading
        self.reload = reload
        self.forwarder = forwarder
        self.keeper = keeper
        self.box = box
        self.journal = journal
        applied = Locked(Self.credentials(in: stored))
    }

    private static func credentials(in stored: [String: [UInt8]]) -> [String: [UInt8]] {
        stored.filter { StoredCredential.name(ofSetting: $0.key) != nil }
    }

    /// `stored` is all that is decided now.
    package func apply(_ stored: [String: [UInt8]]) {
        applySettings(stored)
        applyCredentials(Self.credentials(in: stored))
    }

    private func applySettings(_ stored: [String: [UInt8]]) {
        var unreadable: [String] = []
        let new = StoredDecisions(stored, unreadable: &unreadable)
        let before = decided.withLock { $0 }
        if new.settings
            != before.settings.merging(before.leftOut, uniquingKeysWith: { first, _ in first })
        {
            do throws(ConfigurationProblems) {
                var configuration = try reading([:], false)
                let taken = configuration.takeDecided(from: stored, reading, journal)
                reload.apply(configuration)
                decided.withLock { decided in
                    decided.settings = taken.settings
                    decided.leftOut = taken.leftOut
                }
            } catch {
                for problem in error.problems {
                    journal.error(
                        "settings of another gateway cannot be applied",
                        ["problem": problem.description]
                    )
                }
            }
        }
        guard new.held != before.held else { return }
        decided.withLock { $0.held = new.held }
        forwarder.hold(new.held)
        journal.info(
            "paused destinations follow another gateway",
            ["paused": new.held.sorted().joined(separator: ", ")]
        )
    }

    private func applyCredentials(_ stored: [String: [UInt8]]) {
        let before = applied.withLock { applied in
            defer { applied = stored }
            return applied
        }
        let changed = stored.filter { before[$0.key] != $0.value }
        let left = Set(stored.keys.compactMap(StoredCredential.name(ofSetting:)))
        let gone = Set(before.keys.compactMap(StoredCredential.name(ofSetting:))).subtracting(left)
        // What this gateway has forgotten itself is gone already.
        for name in gone.sorted() where !keeper.pushed(name).isEmpty {
            keeper.forget(name)
            journal.info("credential forgotten at another gateway", ["credential": name])
        }
        keeper.takeShared(changed, box, journal)
        if !gone.isEmpty || !changed.isEmpty { forwarder.credentialsChanged() }
    }
}

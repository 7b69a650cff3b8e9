import Configuration
import Credentials
import Crypto
import Delivery
import Queue
import Synchronization
import System

/// Applies what operators decided at other gateways of a cluster. Runs on the thread of changes.
package final class SharedDecisions: Sendable {
    private static let patience = Duration.seconds(1)

    private let parts: GatewayParts
    private let reload: ConfigurationReload
    /// Something is decided that is not applied yet.
    private let isDue = Atomic(false)
    /// What was reported last, so that it is not reported again with each attempt.
    private let reported = Locked<[String]>([])
    /// Stored credentials as they were applied last, by their settings.
    private let applied: Locked<[String: [UInt8]]>

    /// `stored` is what was applied at the start.
    package init(_ parts: GatewayParts, _ reload: ConfigurationReload, _ stored: [String: [UInt8]])
    {
        self.parts = parts
        self.reload = reload
        applied = Locked(Self.credentials(in: stored))
    }

    private static func credentials(in stored: [String: [UInt8]]) -> [String: [UInt8]] {
        stored.filter { StoredCredential.name(ofSetting: $0.key) != nil }
    }

    /// Another gateway has decided something. Called from any thread.
    package func changed() { isDue.store(true, ordering: .releasing) }

    /// Applies all decisions, this gateway's own included. What fails is tried again later.
    package func applyIfDue() {
        guard isDue.exchange(false, ordering: .acquiring) else { return }
        // Before the decisions are read: what is pushed here meanwhile is not among them.
        let held = parts.keeper.storedNames
        do throws(QueueError) {
            let stored = try parts.store.decisions.recall(within: Self.patience)
            let isApplied = applySettings(stored)
            applyCredentials(Self.credentials(in: stored), besides: held)
            if !isApplied { changed() }
        } catch {
            changed()
        }
    }

    /// Returns false if the settings cannot be applied now.
    private func applySettings(_ stored: [String: [UInt8]]) -> Bool {
        var isApplied = true
        var unreadable: [String] = []
        let new = StoredDecisions(stored, unreadable: &unreadable)
        let before = parts.decided.withLock { $0 }
        if new.settings
            != before.settings.merging(before.leftOut, uniquingKeysWith: { first, _ in first })
        {
            do throws(ConfigurationProblems) {
                var configuration = try parts.reading([:], false)
                let taken = configuration.takeDecided(from: stored, parts.reading, parts.journal)
                if let refusal = reload.tryToApply(configuration) {
                    isApplied = false
                    report([refusal])
                } else {
                    parts.decided.withLock { decided in
                        decided.settings = taken.settings
                        decided.leftOut = taken.leftOut
                    }
                    reported.withLock { $0 = [] }
                }
            } catch {
                isApplied = false
                report(error.problems.map(\.description))
            }
        }
        guard new.held != before.held else { return isApplied }
        parts.decided.withLock { $0.held = new.held }
        parts.forwarder.hold(new.held)
        parts.journal.info(
            "paused destinations follow another gateway",
            ["paused": new.held.sorted().joined(separator: ", ")]
        )
        return isApplied
    }

    private func report(_ problems: [String]) {
        let isNew = reported.withLock { reported in
            defer { reported = problems }
            return reported != problems
        }
        guard isNew else { return }
        for problem in problems {
            parts.journal.error(
                "settings of another gateway cannot be applied; tried again every ten seconds",
                ["problem": problem]
            )
        }
    }

    /// Forgets those of `held` that are not stored any more.
    private func applyCredentials(_ stored: [String: [UInt8]], besides held: Set<String>) {
        let before = applied.withLock { applied in
            defer { applied = stored }
            return applied
        }
        let changed = stored.filter { before[$0.key] != $0.value }
        let left = Set(stored.keys.compactMap(StoredCredential.name(ofSetting:)))
        let gone = held.subtracting(left).filter(parts.keeper.forgetStored)
        for name in gone.sorted() {
            parts.journal.info("credential forgotten at another gateway", ["credential": name])
        }
        parts.keeper.takeShared(changed, parts.box, parts.journal)
        if !gone.isEmpty || !changed.isEmpty { parts.forwarder.credentialsChanged() }
    }
}

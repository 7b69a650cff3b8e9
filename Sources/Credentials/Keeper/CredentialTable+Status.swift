import SLS
import System

extension CredentialTable {
    func status(_ now: WallTime) -> [CredentialStatus] {
        entries.map { status(of: $0.key, $0.value, now) }.sorted { $0.name < $1.name }
    }

    private func status(of name: String, _ entry: Entry, _ now: WallTime) -> CredentialStatus {
        var status = CredentialStatus(
            name: name,
            source: entry.source.kind,
            state: state(of: entry, now)
        )
        if let current = entry.current {
            status.origin = current.origin
            status.isPushed = entry.pushed != nil
            status.fingerprint = current.fingerprint
            status.shownID = current.shownID
            status.expiration = current.expiration
            status.secondsLeft = current.usableUntil.map { ($0 - now).components.seconds }
        }
        if let next = entry.next, let time = next.activation {
            status.next = .init(fingerprint: next.supplied.fingerprint, activation: time)
        }
        status.kept = entry.kept
        status.generation = entry.generation
        status.lastRefresh = entry.lastRefresh
        status.lastProblem = entry.problem
        status.failures = entry.failures
        status.nextTry = entry.nextTry
        return status
    }

    /// The worst state that applies.
    private func state(of entry: Entry, _ now: WallTime) -> CredentialStatus.State {
        guard let current = entry.current else {
            // After a failed attempt, a further attempt does not count as healthy.
            return entry.isRefreshing && entry.failures == 0 ? .refreshing : .missing
        }
        if current.isExpired(at: now) { return .expired }
        if entry.refusedFingerprint == current.fingerprint { return .refused }
        let isRefreshing = entry.isRefreshing && entry.pushed == nil
        if let due = current.refreshTime(), due <= now, !isRefreshing || entry.failures > 0 {
            return .expiring
        }
        return isRefreshing ? .refreshing : .ok
    }
}

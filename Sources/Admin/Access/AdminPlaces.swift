import Configuration
import System

/// Places that holders of tokens take for a while.
final class AdminPlaces: Sendable {
    let shares: AdminShares
    private let holders = Locked<[AdminHolder]>([])

    init(_ count: Int) { shares = AdminShares(count) }

    /// False when the holder has to wait.
    func take(_ holder: AdminHolder) -> Bool {
        holders.withLock { holders in
            guard shares.hasRoom(for: holder, beside: holders) else { return false }
            holders.append(holder)
            return true
        }
    }

    func give(_ holder: AdminHolder) {
        holders.withLock { holders in
            if let index = holders.firstIndex(of: holder) { holders.remove(at: index) }
        }
    }
}

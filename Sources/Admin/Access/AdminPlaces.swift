import Configuration
import System

/// Places that holders of tokens take for a while.
final class AdminPlaces: Sendable {
    /// A taken place. Its deinit gives it back.
    final class Place: Sendable {
        private let places: AdminPlaces
        private let holder: AdminHolder

        fileprivate init(_ places: AdminPlaces, _ holder: AdminHolder) {
            self.places = places
            self.holder = holder
        }

        deinit {
            places.holders.withLock { holders in
                if let index = holders.firstIndex(of: holder) { holders.remove(at: index) }
            }
        }
    }

    let shares: AdminShares
    private let holders = Locked<[AdminHolder]>([])

    init(_ count: Int) { shares = AdminShares(count) }

    /// nil: the holder has to wait.
    func take(for holder: AdminHolder) -> Place? {
        holders.withLock { holders in
            guard shares.hasRoom(for: holder, beside: holders) else { return nil }
            holders.append(holder)
            return Place(self, holder)
        }
    }
}

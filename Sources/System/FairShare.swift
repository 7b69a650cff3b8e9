/// Divides a bounded number of places fairly among several holders.
///
/// Half of the places are reserves, equal for each holder; the other half is open to all. Beyond
/// its reserve, a holder takes open places only while it has fewer of them than are still free. One
/// greedy holder therefore leaves half of the open places to the others, two leave a third, and a
/// holder within its reserve is never refused. A single holder may take everything.
package struct FairShare: Sendable, Equatable {
    /// Places of each holder that no other holder may take.
    package let reserve: Int
    /// Places beyond all reserves.
    package let open: Int
    /// All places.
    package let places: Int
    /// There is only one holder.
    private let isAlone: Bool

    package init(max: Int, holders: Int) {
        places = max
        isAlone = holders < 2
        reserve = isAlone ? max : max / (2 * holders)
        open = isAlone ? 0 : max - holders * reserve
    }

    /// A share with its own reserve, when other shares hold the remaining places.
    package init(max: Int, reserve: Int, open: Int, holders: Int) {
        (places, self.reserve, self.open, isAlone) = (max, reserve, open, holders < 2)
    }

    /// True if a holder of `own` places may take one more, while `lent` open places are in use.
    package func hasPlace(own: Int, lent: Int) -> Bool {
        own < reserve || (!isAlone && own - reserve < open - lent)
    }

    /// The number of places that a holder of `own` may still take, one after the other.
    package func room(own: Int, lent: Int) -> Int {
        guard !isAlone else { return max(0, reserve - own) }
        return max(0, reserve - own) + max(0, open - lent - max(0, own - reserve) + 1) / 2
    }
}

/// Tracks the places of each holder of a `FairShare`. Each verb costs one dictionary look-up;
/// changing the share costs one step a holder.
package struct FairShares<Holder: Hashable> {
    package private(set) var share: FairShare
    /// Holders without a place are absent.
    private var held: [Holder: Int] = [:]
    /// Places in use beyond the reserves.
    package private(set) var lent = 0
    /// Places in use.
    package private(set) var all = 0

    package init(_ share: FairShare) {
        self.share = share
    }

    package func own(_ holder: Holder) -> Int { held[holder] ?? 0 }

    package func hasPlace(_ holder: Holder) -> Bool {
        all < share.places && share.hasPlace(own: own(holder), lent: lent)
    }

    package func room(_ holder: Holder) -> Int {
        min(share.room(own: own(holder), lent: lent), max(0, share.places - all))
    }

    package mutating func take(_ holder: Holder) {
        let own = held[holder, default: 0]
        if own >= share.reserve { lent += 1 }
        all += 1
        held[holder] = own + 1
    }

    package mutating func giveBack(_ holder: Holder) {
        guard let own = held[holder] else { return }
        if own > share.reserve { lent -= 1 }
        all -= 1
        held[holder] = own > 1 ? own - 1 : nil
    }

    /// Changes the bounds and keeps the holders. A holder above its new bound keeps its places.
    package mutating func change(to new: FairShare) {
        guard new != share else { return }
        share = new
        lent = held.values.reduce(0) { $0 + max(0, $1 - new.reserve) }
    }
}

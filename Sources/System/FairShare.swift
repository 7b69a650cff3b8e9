/// How many of a bounded number of places each of several holders may take.
///
/// Half of the places are reserves, an equal one for each holder; the other half is open to all. Beyond its reserve a
/// holder takes open places only while it has fewer of them than are still free. So one greedy holder leaves half of the
/// open places to the others, two of them a third, and a holder within its reserve is never refused. A holder that is
/// the only one may take everything.
package struct FairShare: Sendable, Equatable {
    /// Places that only this holder may take, for each holder.
    package let reserve: Int
    /// Places beyond all reserves, together.
    package let open: Int
    /// All of them.
    package let places: Int
    /// There is no other holder to leave anything to.
    private let isAlone: Bool

    package init(max: Int, holders: Int) {
        places = max
        isAlone = holders < 2
        reserve = isAlone ? max : max / (2 * holders)
        open = isAlone ? 0 : max - holders * reserve
    }

    /// With a reserve of another size; what is missing of it is another's to give.
    package init(max: Int, reserve: Int, open: Int, holders: Int) {
        (places, self.reserve, self.open, isAlone) = (max, reserve, open, holders < 2)
    }

    /// Whether a holder of `own` places may take one more. `lent` are the open places that are taken.
    package func hasPlace(own: Int, lent: Int) -> Bool {
        own < reserve || (!isAlone && own - reserve < open - lent)
    }

    /// How many places a holder of `own` may still take, one after the other.
    package func room(own: Int, lent: Int) -> Int {
        guard !isAlone else { return max(0, reserve - own) }
        return max(0, reserve - own) + max(0, open - lent - max(0, own - reserve) + 1) / 2
    }
}

/// Who has how many places of a `FairShare`. Each verb costs a look into a table; another share costs one for each holder.
package struct FairShares<Holder: Hashable> {
    package private(set) var share: FairShare
    /// Of those that have any.
    private var held: [Holder: Int] = [:]
    /// Places taken beyond the reserves.
    package private(set) var lent = 0
    /// Places taken.
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

    /// Goes on with the same holders and other bounds. Who has more than they allow keeps it.
    package mutating func change(to new: FairShare) {
        guard new != share else { return }
        share = new
        lent = held.values.reduce(0) { $0 + max(0, $1 - new.reserve) }
    }
}

/// The places in flight of a destination. An outlet takes one only while more are free than it has:
/// so one outlet alone gets half of them, several share most of them, and however slow one is,
/// there is a place for another.
///
/// Probes of outlets that take nothing may hang for long. Together they get half of the places.
struct Places: Equatable {
    private(set) var total: Int
    private(set) var taken = 0
    private(set) var takenByProbes = 0

    /// At run time. Places taken beyond the total are given back as their requests end.
    mutating func set(total: Int) {
        self.total = total
    }

    /// `limit` is how many the destination may use just now.
    func free(within limit: Int) -> Int {
        max(0, min(total, limit) - taken)
    }

    /// True when one more probe may go, if there is a place.
    var admitProbes: Bool { takenByProbes < max(1, total / 2) }

    func admits(holding held: Int, isProbe: Bool, within limit: Int) -> Bool {
        free(within: limit) > held && (!isProbe || admitProbes)
    }

    mutating func take(isProbe: Bool) {
        taken += 1
        if isProbe { takenByProbes += 1 }
    }

    mutating func giveBack(isProbe: Bool) {
        precondition(taken > 0, "a place is given back once")
        precondition(!isProbe || takenByProbes > 0, "a probe's place is given back once")
        taken -= 1
        if isProbe { takenByProbes -= 1 }
    }
}

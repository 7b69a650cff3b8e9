import Queue

/// The number of dead letters by destination and code. The store updates it when letters come and
/// go, so no caller has to walk over all letters.
struct DeadSums {
    private struct Reason: Hashable {
        let destination: String
        let code: String
    }

    private var byReason: [Reason: DeadLetterSum] = [:]
    /// True if the sums changed since the last look.
    var haveChanged = false

    /// Sorted by destination, then by code.
    var sorted: [DeadLetterSum] {
        byReason.values.sorted { ($0.destination, $0.code) < ($1.destination, $1.code) }
    }

    mutating func add(_ sum: DeadLetterSum) {
        let reason = Reason(destination: sum.destination, code: sum.code)
        byReason[reason, default: DeadLetterSum(none: sum)].add(sum)
        haveChanged = true
    }

    /// Removes one letter. Returns the bytes that leave with it, or nil if no such letter is known.
    /// A letter's own size may have changed on the disk, so the last letter takes all counted bytes
    /// with it.
    mutating func remove(_ destination: String, _ code: String, bytes: Int) -> Int? {
        let reason = Reason(destination: destination, code: code)
        guard let left = byReason[reason] else { return nil }
        haveChanged = true
        guard left.letters > 1 else {
            byReason[reason] = nil
            return left.bytes
        }
        byReason[reason]?.letters -= 1
        byReason[reason]?.bytes -= bytes
        return bytes
    }
}

extension DeadLetterSum {
    fileprivate init(none other: DeadLetterSum) {
        self.init(
            destination: other.destination,
            code: other.code,
            letters: 0,
            bytes: 0,
            latest: other.latest
        )
    }

    fileprivate mutating func add(_ other: DeadLetterSum) {
        letters += other.letters
        bytes += other.bytes
        latest = max(latest, other.latest)
    }
}

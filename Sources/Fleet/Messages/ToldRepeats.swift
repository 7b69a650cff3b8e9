import Queue
import System

/// Requests that other gateways have stored, so that a repetition here gets the first answer. A
/// ring: the oldest leave when there are too many. A place takes about 78 bytes.
struct ToldRepeats {
    static let digestBytes = 16
    /// Longer receipts are not told.
    static let receiptBytesMax = 40
    private static let placeBytes = digestBytes + 1 + receiptBytesMax

    private struct Slot {
        let logs: UInt32
        /// Seconds of the clock since the boot.
        let told: UInt32
    }

    private let most: Int
    private let ageMax: Duration
    /// The place of a digest, by its first bytes.
    private var places: [UInt64: Int32] = [:]
    private var bytes: [UInt8] = []
    private var slots: [Slot] = []
    private var next = 0

    init(atMost most: Int, ageMax: Duration) {
        self.most = min(most, Int(Int32.max))
        self.ageMax = ageMax
    }

    var count: Int { places.count }

    mutating func add(_ identity: BatchIdentity, toldAt told: Moment) {
        guard most > 0, identity.digest.count == Self.digestBytes,
            identity.receipt.count <= Self.receiptBytesMax,
            let logs = UInt32(exactly: identity.logs)
        else { return }
        let slot = Slot(logs: logs, told: Self.seconds(told))
        // A message may come again, and must not take a second place or make the request younger.
        if let known = places[Self.key(identity.digest[...])].map(Int.init),
            bytes[start(known)...].starts(with: identity.digest),
            Int32(bitPattern: slot.told &- slots[known].told) <= 0
        {
            return
        }
        let padding = Self.receiptBytesMax - identity.receipt.count
        let place =
            identity.digest + [UInt8(identity.receipt.count)] + identity.receipt
            + [UInt8](repeating: 0, count: padding)
        if slots.count < most {
            bytes += place
            slots.append(slot)
        } else {
            let old = Self.key(bytes[start(next)..<start(next) + Self.digestBytes])
            if places[old] == Int32(next) { places[old] = nil }
            bytes.replaceSubrange(start(next)..<start(next + 1), with: place)
            slots[next] = slot
        }
        places[Self.key(identity.digest[...])] = Int32(next)
        next = (next + 1) % most
    }

    /// The request with this digest, as it was answered first.
    func first(of digest: [UInt8], _ now: Moment) -> BatchIdentity? {
        guard !places.isEmpty, digest.count == Self.digestBytes,
            let place = places[Self.key(digest[...])].map(Int.init)
        else { return nil }
        let found = bytes[start(place)..<start(place + 1)]
        let age = Self.seconds(now) &- slots[place].told
        guard found.prefix(Self.digestBytes).elementsEqual(digest),
            Duration.seconds(Int64(age)) < ageMax
        else { return nil }
        let receipt = found.dropFirst(Self.digestBytes + 1)
        let length = Int(found[found.startIndex + Self.digestBytes])
        return BatchIdentity(
            digest: digest,
            receipt: Array(receipt.prefix(length)),
            logs: Int(slots[place].logs)
        )
    }

    private func start(_ place: Int) -> Int { place * Self.placeBytes }

    private static func key(_ digest: ArraySlice<UInt8>) -> UInt64 {
        digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func seconds(_ now: Moment) -> UInt32 {
        UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000)
    }
}

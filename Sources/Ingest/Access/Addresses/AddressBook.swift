import Configuration
import Net
package import System

/// The used budgets of addresses.
///
/// An address is remembered until its budget is full again, when forgetting it changes nothing.
/// When the book is full of addresses that are not, newcomers share one budget: known addresses
/// keep theirs, and a crowd of new ones gets in no more than a few.
///
/// The book has pages with a lock each, a share of the room, and a budget for newcomers. A client
/// cannot know the page of an address, because every process seeds its hashes at random.
package final class AddressBook: Sendable {
    enum Part {
        case rate, bytes
    }

    package enum Count: Int, CounterKey {
        /// Addresses in the book now.
        case addresses
        case refusedRate, refusedBytes
        /// How often newcomers shared a budget.
        case shared
    }

    /// The moments at which the budgets are full again; see `RateBudget`.
    private struct Entry {
        var rate: Int64 = 0
        var bytes: Int64 = 0

        subscript(part: Part) -> Int64 {
            get { part == .rate ? rate : bytes }
            set { if part == .rate { rate = newValue } else { bytes = newValue } }
        }

        var fullAt: Int64 { max(rate, bytes) }
    }

    private struct Page {
        var entries: [Neighbourhood: Entry] = [:]
        var newcomers = Entry()
        /// The bursts of the current budgets; 0 before the first use.
        var bursts = Entry()
        /// Finding the addresses to forget takes a pass over all entries.
        var nextLook = Moment(nanoseconds: 0)

        mutating func makeRoom(_ most: Int, at now: Moment) -> Bool {
            if entries.count < most { return true }
            guard now >= nextLook else { return false }
            nextLook = now + AddressBook.lookPause
            entries = entries.filter { $0.value.fullAt > now.nanoseconds }
            return entries.count < most
        }

        /// Follows a reload; see `Meter.adopt`.
        mutating func adopt(_ pace: RateBudget, of part: Part, at now: Moment) {
            guard bursts[part] != pace.burst else { return }
            if bursts[part] != 0 {
                let most = pace.allUsed(at: now)
                newcomers[part] = min(newcomers[part], most)
                entries = entries.mapValues { entry in
                    var entry = entry
                    entry[part] = min(entry[part], most)
                    return entry
                }
            }
            bursts[part] = pace.burst
        }
    }

    package static let pagesCount = DeviceSettings.PerAddress.addressesMin
    /// Keeps these passes of all pages together below a few percent of a core.
    private static let lookPause = Duration.milliseconds(100)

    private let pages = (0..<AddressBook.pagesCount).map { _ in Locked(Page()) }
    private let counters = CounterSet<Count>()

    /// Takes all or nothing. Returns the wait until it fits, nil when it was taken. `onlyAsking`
    /// takes nothing.
    func take(
        _ units: Int,
        of part: Part,
        _ pace: RateBudget,
        for address: Neighbourhood,
        atMost most: Int,
        at now: Moment,
        onlyAsking: Bool = false
    ) -> Duration? {
        let judgement = withEntry(of: address, part, pace, atMost: most, at: now) { entry in
            let judgement = pace.judge(entry[part], taking: units, at: now)
            if case .fits(let fullAt) = judgement, !onlyAsking { entry[part] = fullAt }
            return judgement
        }
        guard case .wait(let time) = judgement else { return nil }
        counters.count(part == .rate ? .refusedRate : .refusedBytes)
        return time
    }

    /// Takes bytes that arrived already. May overdraw.
    func charge(
        _ units: Int,
        of part: Part,
        _ pace: RateBudget,
        for address: Neighbourhood,
        atMost most: Int,
        at now: Moment
    ) {
        withEntry(of: address, part, pace, atMost: most, at: now) { entry in
            entry[part] = pace.fullAt(after: entry[part], taking: units, at: now)
        }
    }

    private func withEntry<Result>(
        of address: Neighbourhood,
        _ part: Part,
        _ pace: RateBudget,
        atMost most: Int,
        at now: Moment,
        _ body: (inout Entry) -> Result
    ) -> Result {
        let page = pages[Int(UInt(bitPattern: address.hashValue) % UInt(Self.pagesCount))]
        return page.withLock { page in
            page.adopt(pace, of: part, at: now)
            guard page.entries[address] != nil || page.makeRoom(most / Self.pagesCount, at: now)
            else {
                counters.count(.shared)
                return body(&page.newcomers)
            }
            return body(&page.entries[address, default: Entry()])
        }
    }

    package var counts: Counts<Count> {
        var counts = counters.counts
        counts[.addresses] = pages.reduce(0) { $0 + $1.withLock(\.entries.count) }
        return counts
    }
}

/// The limits of each address, whatever its key. An IPv6 address counts by its /64.
struct AddressLimits: Sendable {
    let rate: RateBudget?
    let bytes: RateBudget?
    let addressesMax: Int

    /// nil: nothing is limited.
    init?(_ settings: DeviceSettings.PerAddress, bodyBytesMax: Int) {
        guard settings.rate != nil || settings.bytes != nil else { return nil }
        rate = settings.rate.map { RateBudget($0) }
        bytes = settings.bytes.map { RateBudget($0, burstMin: bodyBytesMax) }
        addressesMax = settings.addressesMax
    }
}

/// The budget of the address that a request comes from.
///
/// Every request that brings logs takes from the rate when its head arrives, whatever its outcome,
/// so a client cannot keep the gateway busy with checking keys. Bytes are taken like those of a key
/// (see `SenderBudget`). Requests without logs are free: answering them costs no more than refusing
/// them would.
struct AddressBudget: Sendable {
    let address: Neighbourhood
    let limits: AddressLimits
    let book: AddressBook

    /// Takes one request.
    func enter(_ label: DeviceLabel, at now: Moment) throws(Refusal) {
        try take(1, of: .rate, label, at: now)
    }

    /// Refuses a request whose bytes do not fit now. Takes nothing.
    func ask(for count: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        try take(count, of: .bytes, label, at: now, onlyAsking: true)
    }

    func take(_ count: Int, _ label: DeviceLabel, at now: Moment) throws(Refusal) {
        try take(count, of: .bytes, label, at: now)
    }

    /// Takes bytes that were read already. May overdraw; the debt delays later requests.
    func charge(_ count: Int, at now: Moment) {
        guard let bytes = limits.bytes else { return }
        let most = limits.addressesMax
        book.charge(count, of: .bytes, bytes, for: address, atMost: most, at: now)
    }

    private func take(
        _ units: Int,
        of part: AddressBook.Part,
        _ label: DeviceLabel,
        at now: Moment,
        onlyAsking: Bool = false
    ) throws(Refusal) {
        guard let pace = part == .rate ? limits.rate : limits.bytes else { return }
        let time = book.take(
            units,
            of: part,
            pace,
            for: address,
            atMost: limits.addressesMax,
            at: now,
            onlyAsking: onlyAsking
        )
        guard let time else { return }
        let what = part == .rate ? "requests" : "bytes"
        throw .overBudget("this address sends more \(what) than it may", label, after: time)
    }
}

import Configuration
import Net
import Synchronization
import System

/// What addresses have used of what each of them may.
///
/// An address is remembered until all that it may is there again, which is when nothing would change if it were
/// forgotten. While there are as many that are not as there may be, newcomers share a budget with each other: those
/// who are there keep theirs, and a crowd of new addresses gets no more in than a few.
///
/// The book has pages with a lock of their own, each with its share of the room and a budget for newcomers; which one
/// an address is on, nobody outside can know, since hashes are seeded anew in each process.
package final class AddressBook: Sendable {
    enum Part {
        case rate, bytes
    }

    package struct Counts: Equatable {
        /// Addresses that are remembered.
        package var addresses = 0
        package var refusedRate = 0
        package var refusedBytes = 0
        /// Times that newcomers shared a budget.
        package var shared = 0
    }

    /// As `RateBudget` has them: when all will be there again.
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
        /// Of the paces that they go by; 0 before there was one.
        var bursts = Entry()
        /// To look for those that can be forgotten takes a look at all.
        var nextLook = Moment(nanoseconds: 0)

        mutating func hasRoom(_ most: Int, at now: Moment) -> Bool {
            if entries.count < most { return true }
            guard now >= nextLook else { return false }
            nextLook = now + AddressBook.lookPause
            entries = entries.filter { $0.value.fullAt > now.nanoseconds }
            return entries.count < most
        }

        /// As `Meter` does.
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
    /// All pages together then take a few percent of a core at most.
    private static let lookPause = Duration.milliseconds(100)

    private let pages = (0..<AddressBook.pagesCount).map { _ in Locked(Page()) }
    private let refusals = CounterList(count: 2)
    private let shared = Atomic<Int>(0)

    /// All or nothing: how long until it fits, nil when it has. Who only asks takes nothing.
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
        refusals.add(1, at: part == .rate ? 0 : 1)
        return time
    }

    /// Takes what has come already.
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
            guard page.entries[address] != nil || page.hasRoom(most / Self.pagesCount, at: now)
            else {
                shared.add(1, ordering: .relaxed)
                return body(&page.newcomers)
            }
            return body(&page.entries[address, default: Entry()])
        }
    }

    package var counts: Counts {
        Counts(
            addresses: pages.reduce(0) { $0 + $1.withLock(\.entries.count) },
            refusedRate: refusals[0],
            refusedBytes: refusals[1],
            shared: shared.load(ordering: .relaxed)
        )
    }
}

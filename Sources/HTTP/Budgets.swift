import Net
import Synchronization
import System

/// Bounds on the memory that clients make the server hold. Each kind has its own bound, so a flood
/// of one kind leaves room for the others.
struct Budgets: Sendable {
    /// Incomplete heads, heads with incomplete bodies, small requests that wait behind another, and
    /// TLS memory of handshakes and partial records.
    let heads: ByteBudget
    /// Bodies of unanswered requests, and their inflated content.
    let bodies: ByteBudget
    /// The part of `bodies` that large requests waiting for a worker thread may hold: half, so that
    /// small requests always find room.
    let large: ByteBudget
    /// Answers and streams that clients have not read yet.
    let answers: ByteBudget

    init(_ limits: HTTPServer.Limits, within common: Budgets? = nil) {
        heads = ByteBudget(limit: limits.heldHeadBytes, within: common?.heads)
        bodies = ByteBudget(limit: limits.inFlightBodyBytes, within: common?.bodies)
        large = ByteBudget(limit: limits.inFlightBodyBytes / 2, within: common?.large)
        answers = ByteBudget(limit: limits.unsentAnswerBytes, within: common?.answers)
    }
}

/// A connection's share of each budget.
struct Holdings {
    /// Share of the body budget for the body being read.
    var body = 0
    /// Share of the body budget for pipelined requests that wait between turns.
    var waiting = 0
    var head = 0
    var answer = 0
    /// Room for an answer, reserved before the answer was promised.
    var reserved: ByteShare?
}

/// A bound on the bytes that clients make the server hold, over all loops, with a share for each
/// address.
///
/// The budget charges bytes that are held, never the length that a head promises. A promise costs
/// its client nothing and would lock out all others. Clients that hold the whole budget together
/// cannot block each other: a request without room is refused and gives its part back, and a slow
/// client has a deadline.
///
/// A budget may be part of a common one of the same limit, which counts for several servers. It
/// then never holds more than the common one, whose verdict decides.
final class ByteBudget: Sendable {
    private struct State {
        var used = 0
        var neighbourhoods: [Neighbourhood: Int] = [:]
    }

    let limit: Int
    private let common: ByteBudget?
    private let state = Locked(State())
    private let total = Atomic<Int>(0)

    init(limit: Int, within common: ByteBudget? = nil) {
        self.limit = limit
        self.common = common
    }

    var inUse: Int { total.load(ordering: .relaxed) }

    /// True if all servers of this budget together use more than half. Costs one load.
    var isScarce: Bool { common?.isScarce ?? (inUse > limit / 2) }

    /// Checks for room without taking it. One address may always have a body of the size `largest`.
    func hasRoom(for count: Int, of neighbourhood: Neighbourhood?, largest: Int) -> Bool {
        if let common {
            return common.hasRoom(for: count, of: neighbourhood, largest: largest)
        }
        return state.withLock { hasRoom(for: count, of: neighbourhood, largest, $0) }
    }

    /// `whenTaken` runs in the lock.
    func take(
        _ count: Int,
        for neighbourhood: Neighbourhood?,
        largest: Int,
        whenTaken: () -> Void = {}
    ) -> Bool {
        if let common,
            !common.take(count, for: neighbourhood, largest: largest)
        {
            return false
        }
        let isTaken = state.withLock { state in
            guard hasRoom(for: count, of: neighbourhood, largest, state) else { return false }
            state.used += count
            if let neighbourhood { state.neighbourhoods[neighbourhood, default: 0] += count }
            total.store(state.used, ordering: .relaxed)
            whenTaken()
            return true
        }
        if !isTaken { common?.giveBack(count, of: neighbourhood) }
        return isTaken
    }

    /// `condition` is asked in the lock.
    func giveBack(
        _ count: Int,
        of neighbourhood: Neighbourhood?,
        if condition: () -> Bool = { true }
    ) {
        guard count > 0 else { return }
        let isGiven = state.withLock { state in
            guard condition() else { return false }
            state.used -= count
            if let neighbourhood {
                let left = state.neighbourhoods[neighbourhood, default: count] - count
                state.neighbourhoods[neighbourhood] = left > 0 ? left : nil
            }
            total.store(state.used, ordering: .relaxed)
            return true
        }
        if isGiven { common?.giveBack(count, of: neighbourhood) }
    }

    /// What requests hold: all but the unused part of these credits.
    func held(besides credits: [ByteCredit]) -> Int {
        state.withLock { state in state.used - credits.reduce(0) { $0 + $1.unused } }
    }

    /// One address takes at most half, so that others always find room. But a body or answer of the
    /// largest allowed size must fit into an otherwise empty budget. A nil neighbourhood stands for
    /// many clients.
    private func hasRoom(
        for count: Int,
        of neighbourhood: Neighbourhood?,
        _ largest: Int,
        _ state: borrowing State
    ) -> Bool {
        guard count <= limit - state.used else { return false }
        guard let neighbourhood else { return true }
        return count + state.neighbourhoods[neighbourhood, default: 0]
            <= max(limit / 2, largest)
    }
}

/// Bytes of the body budget that a loop takes in advance for small requests.
///
/// The budget's lock and the share of an address cost such a request more than reading it. So the
/// loop takes some of the budget at once, and small requests take theirs from it without a lock.
/// The budget counts all of the credit. An address may hold its share and, of each loop, no more
/// than the credit.
final class ByteCredit: Sendable {
    /// A larger request asks the budget.
    static let smallBytes = 4 << 10
    /// The part of the budget that a loop's credit has.
    static let part = 256

    private let budget: ByteBudget
    private let total = Atomic<Int>(0)
    private let left = Atomic<Int>(0)

    init(of budget: ByteBudget) {
        self.budget = budget
    }

    /// What the budget counts, and no request holds.
    var unused: Int { max(0, left.load(ordering: .relaxed)) }

    /// Takes more of the budget, if the credit was given back. On the loop's thread.
    func open() {
        guard total.load(ordering: .relaxed) == 0 else { return }
        let bytes = budget.limit / Self.part
        guard bytes >= Self.smallBytes else { return }
        let isTaken = budget.take(bytes, for: nil, largest: 0) {
            left.add(bytes, ordering: .relaxed)
        }
        if isTaken { total.store(bytes, ordering: .relaxed) }
    }

    func hasRoom(for count: Int) -> Bool {
        count <= Self.smallBytes && count <= left.load(ordering: .relaxed)
    }

    /// Returns false if the request must ask the budget. From any thread.
    func take(_ count: Int) -> Bool {
        guard hasRoom(for: count) else { return false }
        // Another thread may have taken meanwhile.
        if left.subtract(count, ordering: .relaxed).newValue >= 0 { return true }
        left.add(count, ordering: .relaxed)
        return false
    }

    /// From any thread. A caller that finds the loop ended then calls `close`.
    func giveBack(_ count: Int) { left.add(count, ordering: .sequentiallyConsistent) }

    /// Gives the credit back to the budget if no request holds any of it. Called by the loop before
    /// it sleeps.
    func close() {
        let bytes = total.load(ordering: .relaxed)
        guard bytes > 0, left.load(ordering: .sequentiallyConsistent) == bytes else { return }
        budget.giveBack(bytes, of: nil) {
            let isUnused = left.compareExchange(
                expected: bytes,
                desired: 0,
                ordering: .sequentiallyConsistent
            ).exchanged
            if isUnused { total.store(0, ordering: .relaxed) }
            return isUnused
        }
    }
}

/// Bytes taken from a budget; they go back when the last reference ends.
final class ByteShare: Sendable {
    let bytes: Int
    private let budget: ByteBudget
    private let neighbourhood: Neighbourhood?

    /// For bytes that are taken already.
    init(taken bytes: Int, of budget: ByteBudget, for neighbourhood: Neighbourhood?) {
        self.bytes = bytes
        self.budget = budget
        self.neighbourhood = neighbourhood
    }

    deinit { budget.giveBack(bytes, of: neighbourhood) }
}

/// Counts connections over all loops, in total and by address. A count may be part of a common one
/// with the same limits, which covers several servers. It then never has more than the common one,
/// whose verdict decides.
final class ConnectionCount: Sendable {
    enum Verdict {
        case admitted
        case full
        case addressFull
    }

    private let limit: Int
    private let limitPerNeighbourhood: Int
    private let common: ConnectionCount?
    private let state = Locked(State())
    private let total = Atomic<Int>(0)

    private struct State {
        var total = 0
        var neighbourhoods: [Neighbourhood: Int] = [:]
    }

    init(limit: Int, perNeighbourhood: Int, within common: ConnectionCount? = nil) {
        self.limit = limit
        self.common = common
        self.limitPerNeighbourhood = perNeighbourhood
    }

    var count: Int { total.load(ordering: .relaxed) }

    /// A nil neighbourhood is a proxy, which stands for many clients and counts only in total.
    func add(from neighbourhood: Neighbourhood?) -> Verdict {
        if let verdict = common?.add(from: neighbourhood), verdict != .admitted { return verdict }
        return state.withLock { state in
            guard state.total < limit else { return .full }
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 0]
                guard neighbours < limitPerNeighbourhood else { return .addressFull }
                state.neighbourhoods[neighbourhood] = neighbours + 1
            }
            state.total += 1
            total.store(state.total, ordering: .relaxed)
            return .admitted
        }
    }

    /// Adds an address to a connection without one. False at its limit; the total still counts it.
    func assign(to neighbourhood: Neighbourhood) -> Bool {
        guard common?.assign(to: neighbourhood) ?? true else { return false }
        return state.withLock { state in
            let neighbours = state.neighbourhoods[neighbourhood, default: 0]
            guard neighbours < limitPerNeighbourhood else { return false }
            state.neighbourhoods[neighbourhood] = neighbours + 1
            return true
        }
    }

    func remove(from neighbourhood: Neighbourhood?) {
        state.withLock { state in
            if let neighbourhood {
                let neighbours = state.neighbourhoods[neighbourhood, default: 1]
                // Addresses without connections are removed, or a scan would grow the table for
                // good.
                state.neighbourhoods[neighbourhood] = neighbours > 1 ? neighbours - 1 : nil
            }
            state.total -= 1
            total.store(state.total, ordering: .relaxed)
        }
        // The common count goes last: then this one has room for all that the common one admits.
        common?.remove(from: neighbourhood)
    }
}

package import HTTPClient
package import Net
import Synchronization
package import System

/// The addresses of a host and port. The resolvers' thread writes them; senders read without a
/// lock, and tell what became of their connections.
package final class HostAddresses: Sendable {
    /// What a sender does now.
    package enum View: Sendable {
        /// Wait: no resolver has answered yet. It takes some seconds at most.
        case waiting
        /// Connect by the name: the cache has no place for this host.
        case byName
        /// No resolver knows an address, the system included.
        case unknown
        /// Connect to the first of these, which are never none.
        case known(Known)
    }

    package struct Known: Sendable {
        /// The best first.
        package let targets: [Target]
        package let resolver: String
        /// The answer's time is over.
        package let isStale: Bool
    }

    package struct Target: Sendable {
        package let address: IPAddress
        package let connect: ConnectTarget
    }

    private struct State {
        var ranking = AddressRanking()
        var resolver = ""
        var isStale = false
        /// A view other than waiting was shown.
        var isSettled = false
        /// Those who wait for the first view.
        var waiting: [Promise<Bool>] = []
    }

    package let host: String
    package let port: Int
    /// The resolvers to ask, in order.
    package let resolvers: [String]

    private let state = Locked(State())
    private let shown: Replaceable<View>
    private let isUsed = Atomic(false)
    private let uses = CounterSet<AddressUse>()
    private let signals: Signals

    struct Signals: Sendable {
        /// Asks for a new answer; it is urgent if no address works.
        let wanted: @Sendable (HostAddresses, _ isUrgent: Bool) -> Void
        /// The view is another one.
        let changed: @Sendable (HostAddresses) -> Void
    }

    init(_ host: String, port: Int, _ resolvers: [String], _ signals: Signals) {
        self.host = host
        self.port = port
        self.resolvers = resolvers
        self.signals = signals
        shown = Replaceable(.waiting)
    }

    // MARK: - Senders

    /// A sender's view of the addresses, which it keeps from request to request.
    package struct Reader {
        private let addresses: HostAddresses
        private var snapshot: Replaceable<View>.Snapshot

        package init(_ addresses: HostAddresses) {
            self.addresses = addresses
            snapshot = Replaceable.Snapshot(of: addresses.shown)
        }

        /// Costs an atomic load while nothing changes.
        package mutating func view() -> View {
            snapshot.refresh()
            addresses.noteUse(snapshot.value)
            return snapshot.value
        }
    }

    package var view: View {
        let view = shown.value
        noteUse(view)
        return view
    }

    func noteUse(_ view: View) {
        if case .known(let known) = view {
            uses.count(known.isStale ? .stale : .fresh)
        } else {
            uses.count(.none)
        }
        guard !isUsed.load(ordering: .relaxed),
            !isUsed.exchange(true, ordering: .acquiringAndReleasing)
        else { return }
        // The first use since `takeUse`, which comes after a view that needs an answer was shown:
        // either it takes this use, or that view is here. `view` may be older.
        if case .known(let known) = shown.value, !known.isStale { return }
        signals.wanted(self, false)
    }

    /// Waits for the first view, for senders with a thread of their own.
    package func view(atMost patience: Duration) -> View {
        if case .waiting = view, let promise = try? Promise<Bool>() {
            let isWaiting = state.withLock { state in
                if !state.isSettled { state.waiting.append(promise) }
                return !state.isSettled
            }
            if isWaiting { _ = promise.wait(atMost: patience) }
        }
        return shown.value
    }

    /// What an outcome says about the address that the request went to.
    package enum Verdict: Equatable {
        /// It used a connection that was there already, or did not fail because of the address.
        case nothing
        case works
        case fails(IPAddress, hasAnother: Bool)
    }

    /// Takes what became of a request to one of the addresses.
    package func note(_ outcome: TransferOutcome) -> Verdict {
        let route = outcome.route
        guard route.triedToConnect, let address = route.target.flatMap({ IPAddress($0.address) })
        else { return .nothing }
        switch outcome {
        case .answered:
            connected(to: address, in: route.connectTime)
            return .works
        case .failed(let failure):
            guard failure.isOfConnection else { return .nothing }
            return .fails(address, hasAnother: failed(to: address))
        }
    }

    /// A connection to the address was made. `time` is nil if it was there before.
    package func connected(to address: IPAddress, in time: Duration?) {
        guard let time else { return }
        change { $0.ranking.connected(address, in: time) }
    }

    /// No connection could be made. Returns true if another address did not fail a moment ago.
    package func failed(to address: IPAddress, _ now: Moment = .now) -> Bool {
        let hasAnother = change { state in
            state.ranking.failed(address, now)
            return state.ranking.hasHealthy(now)
        }
        if !hasAnother { signals.wanted(self, true) }
        return hasAnother
    }

    // MARK: - The resolvers' thread

    /// True if it was used since the last call. After false, the first use that finds no fresh
    /// address asks for an answer.
    func takeUse() -> Bool { isUsed.exchange(false, ordering: .acquiringAndReleasing) }

    var useCounts: Counts<AddressUse> { uses.counts }

    /// Shows other addresses.
    func show(_ addresses: [IPAddress], from resolver: String, isStale: Bool) {
        change { state in
            state.ranking.use(addresses)
            state.resolver = resolver
            state.isStale = isStale
            state.isSettled = true
        }
    }

    /// The cache has no place for it.
    func showName() { shown.replace(.byName) }

    /// Nobody knows an address.
    func showNone() {
        change { state in
            state.ranking.use([])
            state.isSettled = true
        }
    }

    /// A race's result.
    func measured(_ address: IPAddress, _ time: Duration?, _ now: Moment) {
        change { state in
            if let time {
                state.ranking.connected(address, in: time)
            } else {
                state.ranking.failed(address, now)
            }
        }
    }

    /// Ranks again if an address has rested that the view has not at its place yet.
    func recover(_ now: Moment) {
        if state.withLock({ $0.ranking.takeRecovery(now) }) { change { _ in } }
    }

    func nextRecovery(after now: Moment) -> Moment? {
        state.withLock { $0.ranking.nextRecovery(after: now) }
    }

    /// For reports: each address with its connect time, and whether it rests.
    func facts(_ now: Moment) -> [(address: IPAddress, connectTime: Duration?, rests: Bool)] {
        state.withLock { state in
            let ranked = state.ranking.ranked(now)
            return ranked.map {
                ($0, state.ranking.connectTime(of: $0), state.ranking.rests($0, now))
            }
        }
    }

    @discardableResult
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, hasChanged, waiting) = state.withLock { state in
            let result = body(&state)
            let hasChanged = publish(&state)
            defer { if hasChanged { state.waiting = [] } }
            return (result, hasChanged, hasChanged ? state.waiting : [])
        }
        for promise in waiting { promise.bring(true) }
        if hasChanged { signals.changed(self) }
        return result
    }

    /// Returns true if the view is another one now.
    private func publish(_ state: inout State) -> Bool {
        guard state.isSettled else { return false }
        let ranked = state.ranking.ranked(.now)
        switch shown.value {
        case .unknown where ranked.isEmpty: return false
        case .known(let old)
        where old.targets.map(\.address) == ranked && old.resolver == state.resolver
            && old.isStale == state.isStale:
            return false
        default: break
        }
        guard !ranked.isEmpty else {
            shown.replace(.unknown)
            return true
        }
        let targets = ranked.map { address in
            let connect = ConnectTarget(
                host: host,
                port: port,
                address: "\(address)",
                source: state.resolver
            )
            return Target(address: address, connect: connect)
        }
        shown.replace(
            .known(Known(targets: targets, resolver: state.resolver, isStale: state.isStale))
        )
        return true
    }
}

extension TransferFailure {
    /// The failure is of the connection, and another address may do better.
    fileprivate var isOfConnection: Bool {
        !isSent && !route.isConnected && Self.ofConnection.contains(code)
    }

    private static let ofConnection: Set<CurlCode> = [
        .couldNotConnect, .timedOut, .tlsConnectError, .peerNotVerified, .badIssuer, .gotNothing,
        .sendError, .receiveError,
    ]
}

import Configuration
import System

/// A destination's endpoints, in the operator's order, and which of them its requests use now.
struct DestinationEndpoints {
    let endpoints: [EndpointState]
    private(set) var choice: EndpointChoice
    /// How often each endpoint was seen to recover and to close.
    private var seen: [(recoveries: Int, closures: Int)]

    init(_ settings: Destination, _ states: EndpointStates, places: Int) {
        self.endpoints = settings.endpointKeys.map { endpoint in
            states.join(endpoint, places: places, waits: settings.transfer.retry)
        }
        choice = EndpointChoice(count: settings.endpointKeys.count)
        seen = self.endpoints.map { ($0.recoveries, $0.closures) }
    }

    /// Requests in flight keep their endpoint until they end.
    func leave(_ states: EndpointStates, places: Int) {
        for endpoint in endpoints { states.release(endpoint, places: places) }
    }

    /// Where requests go now.
    var current: EndpointState { endpoints[choice.current] }

    /// From when on a request may go somewhere; nil while that depends on a result.
    var nextOpening: Moment? {
        choice.candidates.compactMap { endpoints[$0].gate.nextOpening }.min()
    }

    /// Where the next request goes, which may be a probe of the first.
    func next(_ now: Moment) -> EndpointState {
        guard endpoints.count > 1 else { return endpoints[0] }
        return endpoints[choice.next(now) { endpoints[$0].gate.nextOpening }]
    }

    mutating func started(_ endpoint: EndpointState, _ now: Moment) {
        guard let place = place(of: endpoint) else { return }
        choice.started(at: place, now)
    }

    /// The request was not sent after all.
    mutating func withdrawn(_ endpoint: EndpointState) {
        if place(of: endpoint) == 0 { choice.withdrawn() }
    }

    /// Only silence leads elsewhere: a refusal would be the same at every endpoint, and so would a
    /// request to wait.
    mutating func ended(
        _ endpoint: EndpointState,
        _ judgement: Judgement,
        after duration: Duration,
        _ now: Moment
    ) -> EndpointChoice.Switch? {
        // An endpoint that left the settings says nothing, and an address is not the endpoint.
        guard let place = place(of: endpoint), judgement.action != .readdress else { return nil }
        let isSilent =
            !judgement.isAnswered
            || judgement.scope == .endpoint && judgement.retryAfter == nil
        return isSilent
            ? choice.failed(at: place, after: duration, now, random: .random(in: 0...1))
            : choice.answered(at: place, now)
    }

    /// Returns true if an endpoint has recovered since the last call.
    mutating func takeRecovery() -> Bool {
        var hasRecovered = false
        for (place, endpoint) in endpoints.enumerated()
        where seen[place].recoveries != endpoint.recoveries {
            seen[place].recoveries = endpoint.recoveries
            hasRecovered = true
        }
        return hasRecovered
    }

    /// Leaves the present endpoint when its gate has closed, maybe for other destinations.
    mutating func leaveClosed(_ now: Moment) -> EndpointChoice.Switch? {
        let present = choice.current
        for (place, endpoint) in endpoints.enumerated()
        where seen[place].closures != endpoint.closures {
            seen[place].closures = endpoint.closures
            guard place == present, endpoint.gate.probing != nil else { continue }
            return choice.gateFell(at: place, now, random: .random(in: 0...1))
        }
        return nil
    }

    /// The destination may have more or fewer requests in flight from now on.
    func resize(from old: Int, to places: Int) {
        for endpoint in endpoints { endpoint.resize(from: old, to: places) }
    }

    func leads(to endpoint: EndpointState) -> Bool { place(of: endpoint) != nil }

    private func place(of endpoint: EndpointState) -> Int? {
        endpoints.firstIndex { $0 === endpoint }
    }
}

/// Chooses the endpoint of a request: the first while it answers, else the next in order, while a
/// single request now and then probes the first.
///
/// When all are silent they are tried in turn, each as its own gate allows. Results are told with
/// their place in the list, so late ones of an endpoint that was left do no harm.
struct EndpointChoice {
    /// Requests go elsewhere from now on.
    struct Switch: Equatable {
        let from: Int
        let to: Int
        let reason: Reason
    }

    enum Reason: Equatable {
        /// It failed so often in a row, was patiently waited for, or its gate fell.
        case silence(failures: Int)
        /// Each has been silent since any answered.
        case allSilent
        /// The first answers again.
        case first
        /// After all were silent this one answered.
        case answered
    }

    static let failuresMax = 3
    /// One failure after so long, with no answer meanwhile, is enough: three in turn would take
    /// half a minute.
    static let patience: Duration = .seconds(5)

    let count: Int
    private(set) var current = 0
    private(set) var allAreSilent = false
    private var failuresInARow = 0
    /// When the present one answered last.
    private var heard: Moment?
    private var silent: Set<Int> = []
    private var probing = FirstEndpointProbing()

    init(count: Int) {
        self.count = count
    }

    /// Where the next request may go; a gate decides when.
    var candidates: [Int] { allAreSilent ? (0..<count).map { (current + $0) % count } : [current] }

    /// `opening` tells when an endpoint's gate lets a request through; nil: after a result.
    func next(_ now: Moment, opening: (Int) -> Moment?) -> Int {
        if !allAreSilent {
            guard current != 0, probing.isDue(now), let opens = opening(0), opens <= now else {
                return current
            }
            return 0
        }
        let never = Moment(nanoseconds: .max)
        return candidates.map { (place: $0, opens: max(now, opening($0) ?? never)) }
            .min { $0.opens < $1.opens }?.place ?? current
    }

    /// A request goes there now.
    mutating func started(at place: Int, _ now: Moment) {
        if place == 0, current != 0 { probing.started(now) }
    }

    /// A request to the first endpoint was not sent.
    mutating func withdrawn() { probing.withdrawn() }

    /// A request ended without an answer, or with one that blames the endpoint.
    mutating func failed(
        at place: Int,
        after duration: Duration,
        _ now: Moment,
        random: Double
    ) -> Switch? {
        guard count > 1 else { return nil }
        if place == 0 { probing.failed(now, random) }
        guard place == current else { return nil }
        if allAreSilent {
            current = (current + 1) % count
            return nil
        }
        failuresInARow += 1
        let isMute =
            duration >= Self.patience && heard.map { now - $0 >= duration } ?? true
        return isMute || failuresInARow >= Self.failuresMax ? leave(now, random) : nil
    }

    /// The endpoint's gate fell to single requests, maybe because of other destinations.
    mutating func gateFell(at place: Int, _ now: Moment, random: Double) -> Switch? {
        guard count > 1, place == current, !allAreSilent else { return nil }
        return leave(now, random)
    }

    /// SLS answered there, whatever it said of the packet.
    mutating func answered(at place: Int, _ now: Moment) -> Switch? {
        guard count > 1 else { return nil }
        if allAreSilent { return settle(at: place, .answered, now) }
        if place == 0, current != 0 { return settle(at: 0, .first, now) }
        if place == current {
            failuresInARow = 0
            heard = now
            // The others' silence was long ago; only the first is looked after.
            silent.formIntersection([0])
        }
        return nil
    }

    private mutating func settle(at place: Int, _ reason: Reason, _ now: Moment) -> Switch {
        defer { current = place }
        allAreSilent = false
        failuresInARow = 0
        heard = now
        silent = place == 0 ? [] : [0]
        if place == 0 { probing.succeeded(now) }
        return Switch(from: current, to: place, reason: reason)
    }

    private mutating func leave(_ now: Moment, _ random: Double) -> Switch {
        let from = current
        let failures = failuresInARow
        failuresInARow = 0
        heard = nil
        silent.insert(from)
        if from == 0 { probing.begin(now, random) }
        let others = (1..<count).map { (from + $0) % count }
        guard let next = others.first(where: { !silent.contains($0) }) else {
            allAreSilent = true
            current = others[0]
            return Switch(from: from, to: current, reason: .allSilent)
        }
        current = next
        return Switch(from: from, to: next, reason: .silence(failures: failures))
    }
}

/// When a single request tries the first endpoint again: after 5 s, then up to 5 min apart. An
/// endpoint that comes and goes is not probed more often for it.
struct FirstEndpointProbing {
    static let backoff = Backoff(first: .seconds(5), longest: .seconds(300))
    /// An endpoint that lasted so long starts over with short waits.
    static let steadyTime: Duration = .seconds(60)
    /// A request whose end was never reported is over by then.
    private static let patience: Duration = .seconds(900)

    private var due: Moment?
    private var failures = 0
    private var inFlightSince: Moment?
    private var returned: Moment?

    func isDue(_ now: Moment) -> Bool {
        if let inFlightSince, now < inFlightSince + Self.patience { return false }
        return due.map { $0 <= now } ?? false
    }

    /// The first endpoint was left.
    mutating func begin(_ now: Moment, _ random: Double) {
        if returned.map({ now - $0 >= Self.steadyTime }) ?? true { failures = 0 }
        inFlightSince = nil
        plan(now, random)
    }

    mutating func started(_ now: Moment) {
        inFlightSince = now
    }

    mutating func withdrawn() { inFlightSince = nil }

    /// Late results of requests from before the first was left do not count.
    mutating func failed(_ now: Moment, _ random: Double) {
        guard inFlightSince != nil else { return }
        inFlightSince = nil
        plan(now, random)
    }

    mutating func succeeded(_ now: Moment) {
        inFlightSince = nil
        due = nil
        returned = now
    }

    /// Half of the wait is random, so that many gateways do not come at once.
    private mutating func plan(_ now: Moment, _ random: Double) {
        failures += 1
        let window = Self.backoff.window(after: failures)
        due = now + window / 2 + window / 2 * random
    }
}

import System

/// A destination's endpoints, in the operator's order, and which of them its requests use now.
struct DestinationEndpoints {
    let endpoints: [EndpointState]
    private(set) var choice: EndpointChoice
    /// How often each endpoint was seen to recover and to close.
    private var seen: [(recoveries: Int, closures: Int)]

    init(_ settings: DestinationSettings, _ states: EndpointStates, places: Int) {
        self.endpoints = settings.endpoints.map { endpoint in
            states.endpoint(for: endpoint, places: places, waits: settings.probeWaits)
        }
        choice = EndpointChoice(count: settings.endpoints.count)
        seen = self.endpoints.map { ($0.recoveries, $0.closures) }
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

    /// A request ended there that took so long. Only silence leads elsewhere: a refusal would be
    /// the same at every endpoint, and so would a request to wait.
    mutating func ended(
        _ endpoint: EndpointState,
        _ judgement: Judgement,
        after duration: Duration,
        _ now: Moment
    ) -> EndpointChoice.Switch? {
        // An endpoint that is no longer in the settings says nothing, and an address is not the
        // endpoint.
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

    /// Leaves the present endpoint when its gate has closed since the last look, maybe for other
    /// destinations.
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
        for endpoint in endpoints {
            endpoint.join(places: places)
            endpoint.leave(places: old)
        }
    }

    /// True when the destination has this endpoint.
    func leads(to endpoint: EndpointState) -> Bool { place(of: endpoint) != nil }

    private func place(of endpoint: EndpointState) -> Int? {
        endpoints.firstIndex { $0 === endpoint }
    }
}

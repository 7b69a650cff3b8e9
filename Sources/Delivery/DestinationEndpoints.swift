import System

/// A destination's ways to SLS, in the operator's order, and which of them its requests go now.
struct DestinationEndpoints {
    let regions: [EndpointState]
    private(set) var choice: EndpointChoice
    var notices = EndpointNotices()
    /// How often each region was seen to recover and to close.
    private var seen: [(recoveries: Int, closures: Int)]

    init(_ settings: DestinationSettings, _ regions: EndpointStates, places: Int) {
        self.regions = settings.endpoints.map { endpoint in
            regions.region(
                for: EndpointKey(endpoint: endpoint, proxy: settings.proxy),
                places: places,
                waits: settings.probeWaits
            )
        }
        choice = EndpointChoice(count: settings.endpoints.count)
        seen = self.regions.map { ($0.recoveries, $0.closures) }
    }

    /// Where requests go now.
    var current: EndpointState { regions[choice.current] }

    /// From when on a request may go somewhere; nil while that depends on a result.
    var nextOpening: Moment? {
        choice.candidates.compactMap { regions[$0].gate.nextOpening }.min()
    }

    /// Where the next request goes, which may be a probe of the first.
    func next(_ now: Moment) -> EndpointState {
        guard regions.count > 1 else { return regions[0] }
        return regions[choice.next(now) { regions[$0].gate.nextOpening }]
    }

    mutating func started(_ region: EndpointState, _ now: Moment) {
        guard let place = place(of: region) else { return }
        choice.started(at: place, now)
    }

    /// A request ended there that took so long. Only silence leads elsewhere: who answers with a refusal
    /// would refuse it on every way, and who asks for patience would not have it by another.
    mutating func ended(
        _ region: EndpointState,
        _ judgement: Judgement,
        after duration: Duration,
        _ now: Moment
    ) -> EndpointChoice.Switch? {
        // A way that is no longer in the settings says nothing.
        guard let place = place(of: region) else { return nil }
        let isSilent =
            judgement.requestID == nil
            || judgement.scope == .region && judgement.retryAfter == nil
        return isSilent
            ? choice.failed(at: place, after: duration, now, random: .random(in: 0...1))
            : choice.answered(at: place, now)
    }

    /// Whether a region has recovered since the last look.
    mutating func hasRecovered() -> Bool {
        var hasRecovered = false
        for (place, region) in regions.enumerated()
        where seen[place].recoveries != region.recoveries {
            seen[place].recoveries = region.recoveries
            hasRecovered = true
        }
        return hasRecovered
    }

    /// Leaves the present way when its gate has fallen since the last look, maybe for others who go there.
    mutating func leaveClosed(_ now: Moment) -> EndpointChoice.Switch? {
        let present = choice.current
        for (place, region) in regions.enumerated() where seen[place].closures != region.closures {
            seen[place].closures = region.closures
            guard place == present, region.gate.probing != nil else { continue }
            return choice.gateFell(at: place, now, random: .random(in: 0...1))
        }
        return nil
    }

    /// The destination may have more or fewer requests in flight from now on.
    func resize(from old: Int, to places: Int) {
        for region in regions {
            region.join(places: places)
            region.leave(places: old)
        }
    }

    /// Whether it is one of them.
    func leads(to region: EndpointState) -> Bool { place(of: region) != nil }

    private func place(of region: EndpointState) -> Int? {
        regions.firstIndex { $0 === region }
    }
}

import System

extension Pace {
    /// What comes back of requests that were sent before a refusal was known. When many of them are
    /// refused, the server's account stayed empty all the time: then those that it took are its rate.
    struct Flood: Equatable {
        let began: Moment
        /// Whether nothing is known that would be better.
        let mayRaise: Bool
        var refusals = 0
        var units = 0.0
    }

    /// The first answer to what was sent after the refusal ends the flood.
    mutating func endFlood(_ now: Moment) {
        guard let flood, let old = climb else { return }
        self.flood = nil
        let seconds = (now - flood.began) / .seconds(1)
        guard flood.refusals >= 5, flood.units >= 3 * request, seconds > 0.02 else { return }
        let rate = flood.units / seconds
        guard rate < old.allowed || flood.mayRaise else { return }
        climb = Climb(allowed: rate, began: now, from: Climb.low)
        estimate = PaceEstimate()
        estimate.add(flood.units, in: seconds, memory: .infinity)
        epoch += 1
    }
}

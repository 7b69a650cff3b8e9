import System

extension Gate {
    /// What an answer said about the scope.
    enum Verdict: Equatable {
        /// It stored the packet.
        case stored
        /// It works, though this packet was refused for something else.
        case reached
        /// It failed in passing.
        case failed
        case overQuota
        /// It takes nothing until somebody does something.
        case forbidden
        /// It takes nothing until somebody pays.
        case suspended
        /// Nothing: the request ended before, or the reason lies elsewhere.
        case none
    }

    /// What an end has changed for those who wait behind the gate.
    enum Change: Equatable {
        /// An outage is over: what waits within this scope is worth a probe at once.
        case recovered
        case closed
    }

    /// A request has come back. `random` is from 0 to 1.
    mutating func leave(
        _ pass: Pass,
        _ verdict: Verdict,
        retryAfter: Duration? = nil,
        _ now: Moment,
        random: Double
    ) -> Change? {
        freePlace()
        let wasProbing = probing != nil
        switch verdict {
        case .stored:
            pacing.stored(pass.paces, bytes: pass.bytes, now)
            return succeeded(pass, now)
        case .reached: return succeeded(pass, now)
        case .failed: failed(pass, now, random: random)
        case .overQuota:
            pacing.refused(pass.paces, now)
            let change = succeeded(pass, now)
            guard let retryAfter else { return change }
            hold(until: now + retryAfter, now)
            return wasProbing ? nil : .closed
        case .forbidden: forbidden(pass, bounds.longestWait, now, random: random)
        case .suspended: forbidden(pass, bounds.longestWaitSuspended, now, random: random)
        case .none: endedWithout(pass, now, random: random)
        }
        if let retryAfter, verdict == .failed, pass.epoch == epoch || wasProbing == false {
            hold(until: now + retryAfter, now)
        }
        return wasProbing || probing == nil ? nil : .closed
    }

    private mutating func succeeded(_ pass: Pass, _ now: Moment) -> Change? {
        guard probing == nil else {
            guard isProbe(pass) else {
                // Sent before the trouble, and yet good news.
                if probing?.isFlying == false { probing?.next = now }
                return nil
            }
            open(max(bounds.least, bounds.most / 2))
            return .recovered
        }
        guard pass.epoch == epoch else { return nil }
        if window.count(isFailure: false, now) == .grow { limit = min(bounds.most, limit + 1) }
        return nil
    }

    private mutating func failed(_ pass: Pass, _ now: Moment, random: Double) {
        guard probing == nil else {
            if isProbe(pass) { probing?.probeFailed(now, random: random) }
            return
        }
        guard pass.epoch == epoch else { return }
        switch window.count(isFailure: true, now) {
        case .shrink: limit = max(bounds.least, limit * 4 / 5)
        case .halve where limit > bounds.least: limit = max(bounds.least, limit / 2)
        case .halve: pause(bounds.longestWait, now, random: random)
        case .grow, .stay, nil: return
        }
        // Requests that are on their way were sent by more than there are now.
        epoch += 1
    }

    private mutating func forbidden(
        _ pass: Pass,
        _ longestWait: Duration,
        _ now: Moment,
        random: Double
    ) {
        if probing != nil {
            if isProbe(pass) { probing?.probeFailed(now, random: random) }
        } else if pass.epoch == epoch {
            pause(longestWait, now, random: random)
        }
    }

    private mutating func endedWithout(_ pass: Pass, _ now: Moment, random: Double) {
        if isProbe(pass) { probing?.probeEnded(now, random: random) }
    }

    private func isProbe(_ pass: Pass) -> Bool {
        pass.isProbe && pass.epoch == epoch && probing != nil
    }

    private mutating func open(_ limit: Int) {
        probing = nil
        self.limit = limit
        window = ResultWindow()
        epoch += 1
    }
}

// MARK: - From outside

extension Gate {
    /// Goes to single probes at once.
    mutating func pause(_ longestWait: Duration, _ now: Moment, random: Double) {
        let waits = Backoff(first: bounds.firstWait, longest: longestWait)
        probing = Probing(waits, now, random: random)
        window = ResultWindow()
        epoch += 1
    }

    /// Lets nothing through until then, as a server asked for; the first one after is a probe.
    mutating func hold(until moment: Moment, _ now: Moment) {
        if probing == nil { pause(bounds.longestWait, now, random: 0) }
        probing?.next = min(moment, now + bounds.longestHold)
    }

    /// Something has changed, as a credential or a setting: worth a probe at once. What comes back from
    /// before says nothing any more.
    mutating func reopen(_ now: Moment) {
        probing?.begin(now)
        window = ResultWindow()
        epoch += 1
    }

    /// At run time.
    mutating func set(_ bounds: Bounds) {
        self.bounds = bounds
        limit = min(max(limit, bounds.least), bounds.most)
    }
}

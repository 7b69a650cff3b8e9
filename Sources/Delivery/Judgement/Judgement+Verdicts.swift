extension Judgement {
    /// What the answer says about a scope, for its gate. `isPacketAtFault` is true when the
    /// outlet's other packets prove that this packet is at fault: then a suspect packet says
    /// nothing against the outlet.
    ///
    /// Any answer proves that SLS is there: a refusal for a logstore proves that endpoint and
    /// project work. An endpoint's failure also counts against the logstore that it happened to. So
    /// a single logstore that never gets an answer is slowed down by itself, and the endpoint's
    /// gate sees the successes of the others.
    func verdict(for scope: GateScope, isPacketAtFault: Bool) -> Gate.Verdict {
        switch action {
        case .acknowledge: return .stored
        case .split: return .reached
        case .readdress: return .none
        // SLS works, and takes no number of this logstore: another lane for each packet, at once
        // and without end, would be a request for each of them that stores nothing.
        case .relane: return scope == .logstore ? .failed : .reached
        // Refused before SLS looked at project and logstore, or for an unknown reason.
        case .resign: return scope == .endpoint ? .reached : .none
        case .suspect where scope == .logstore: return isPacketAtFault ? .none : .forbidden
        case .suspect: return scope == .endpoint ? .reached : .none
        case .again(.endpoint):
            return scope == .endpoint || scope == .logstore ? .failed : .none
        case .again(let own):
            return verdict(for: scope, own, .failed)
        case .slowDown(let own):
            return verdict(for: scope, own, .overQuota(quota))
        // The credential may be refused, or this logstore alone: both wait, each at its own gate.
        case .pause(.project) where isOfUnknownUnauthorized && scope == .logstore: return .forbidden
        case .pause(.project) where isOfUnknownUnauthorized && scope == .project: return .undecided
        case .pause(let own):
            return verdict(for: scope, own, kind == .suspended ? .suspended : .forbidden)
        }
    }

    /// How long the scope asks to be left alone.
    func retryAfter(for scope: GateScope) -> Duration? {
        scope == self.scope ? retryAfter : nil
    }

    private func verdict(
        for scope: GateScope,
        _ own: GateScope,
        _ verdict: Gate.Verdict
    ) -> Gate.Verdict {
        if scope == own { return verdict }
        guard scope.holds(own) else { return .none }
        // Without an answer nothing is proven about what holds the scope.
        return status == nil ? .none : .reached
    }
}

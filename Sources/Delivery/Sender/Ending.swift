import System

/// How a request ended, for its packet and for the gates that it passed.
struct Ending {
    let judgement: Judgement
    /// nil when the packet is stored.
    let failure: DeliveryFailure?
    /// The answer says nothing about any gate.
    let isExcused: Bool
    /// The outlet's other packets prove that this packet is at fault.
    let isPacketAtFault: Bool

    /// What the answer says about a scope, for its gate.
    func verdict(for scope: GateScope) -> Gate.Verdict {
        guard isExcused else {
            return judgement.verdict(for: scope, isPacketAtFault: isPacketAtFault)
        }
        // SLS answered, so the endpoint works, whatever is refused.
        return scope == .endpoint && judgement.isAnswered ? .reached : .none
    }

    /// How long the scope asks to be left alone.
    func retryAfter(for scope: GateScope) -> Duration? {
        isExcused ? nil : judgement.retryAfter(for: scope)
    }
}

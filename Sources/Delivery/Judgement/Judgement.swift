import Queue
import System

/// What an answer means for a packet, for the gates that its request passed, and for the operator.
struct Judgement: Equatable {
    enum Action: Equatable {
        /// It is stored.
        case acknowledge
        /// The same request again, when the scope's gate lets it through.
        case again(GateScope)
        /// The same again, and fewer of them from now on.
        case slowDown(GateScope)
        /// The same again, but only one at a time tries whether the scope takes anything.
        case pause(GateScope)
        /// The same at once, signed with the corrected time.
        case resign
        /// A log in it is refused: it has to be found and taken out.
        case split
        /// The packet or our settings are at fault. Only when other packets of the outlet are
        /// stored is it the packet, and is split.
        case suspect
        /// The same at once, to another address of the endpoint.
        case readdress
        /// The lane's number is used up by something else: the packet needs another lane.
        case relane
    }

    /// What else an answer says, where gates and packets depend on it.
    struct Traits: OptionSet {
        let rawValue: Int

        /// The destination answered, whatever it said.
        static let answered = Traits(rawValue: 1)
        /// The code is none that the judge knows.
        static let unknownCode = Traits(rawValue: 2)
        /// The sender is denied, or what it writes to does not exist. An expired token is denied
        /// nothing: another token is missing.
        static let deniesRights = Traits(rawValue: 4)
        /// The packet is refused for its size, which a smaller packet cures.
        static let ofSize = Traits(rawValue: 8)
        /// A log may be refused for its time.
        static let mayBeOfTime = Traits(rawValue: 16)
    }

    var action: Action
    var kind: DeliveryFailure.Kind
    let result: ProducerResult
    var status: Int?
    /// The destination's error code, or the transport's.
    var code: String?
    /// Without the secrets of the credential that signed the request.
    let message: String
    var requestID: String?
    var remedy: String
    var retryAfter: Duration?
    /// The logs may be stored. If a later try is refused because SLS has seen the sequence number,
    /// they are.
    var isOutcomeUnknown = false
    var traits: Traits = []
    /// The units of a used up quota.
    var quota = Quota.unknown
    /// The time in the answer; nil when there was no answer.
    var time: AnswerTime?
    /// The label of the answer in metrics; nil when there was no answer.
    var countedAs: String?

    /// The scope whose gate the answer moves, if any.
    var scope: GateScope? {
        switch action {
        case .again(let scope), .slowDown(let scope), .pause(let scope): scope
        case .suspect: .logstore
        case .acknowledge, .resign, .split, .relane, .readdress: nil
        }
    }

    /// The destination answered, whatever it said.
    var isAnswered: Bool { traits.contains(.answered) }

    /// The credential itself is refused, wherever it is used.
    var isOfCredential: Bool { kind == .unauthorized && action == .pause(.project) }

    /// The credential is refused with an unknown code, which may also mean the logstore.
    var isOfUnknownUnauthorized: Bool { isOfCredential && traits.contains(.unknownCode) }

    /// The content of the packet is refused. A proxy on the way may have changed it.
    var isOfContent: Bool { action == .split && !traits.contains(.ofSize) }

    /// Everything is refused: no single log is at fault, but something that all of them pass.
    var blamingLogstore: Judgement {
        var judgement = with(.suspect)
        judgement.remedy =
            "everything that is sent to this logstore is refused, so no log is given up for now: look for a proxy "
            + "that changes requests, and at the applications and clocks of the devices; if the logs are bad "
            + "indeed, sluice resume DESTINATION takes the next ones apart"
        return judgement
    }

    private func with(_ action: Action) -> Judgement {
        var judgement = self
        judgement.action = action
        return judgement
    }

    /// Only the logstore is refused, not the credential.
    var limitedToLogstore: Judgement { with(.pause(.logstore)) }

    /// The destination's own time did not help, so another signature would not either.
    var withoutResigning: Judgement {
        action == .resign ? with(.pause(.endpoint)) : self
    }

    /// The host has another address: nothing is known about the endpoint before all have failed.
    var atAnotherAddress: Judgement {
        if case .again = action, status == nil { with(.readdress) } else { self }
    }

    /// The host's clock is so wrong (SLS's minus the host's) that SLS refuses logs with its time:
    /// the log is not at fault, and setting the clock is the remedy.
    func blamingClock(_ offset: Duration) -> Judgement {
        guard action == .split || action == .suspect, traits.contains(.mayBeOfTime) else {
            return self
        }
        var judgement = with(.suspect)
        judgement.kind = .clock
        judgement.remedy = DeliveryFailure.remedy(forClock: offset)
        return judgement
    }

    /// What the answer says about a scope, for its gate. With `isPacketAtFault`, other packets
    /// prove that this one is at fault: then a suspect packet says nothing against the outlet.
    ///
    /// Any answer proves that SLS is there: a refusal for a logstore proves that endpoint and
    /// project work. An endpoint's failure also counts against the logstore, so a single logstore
    /// that never gets an answer slows down alone, and the endpoint's gate sees the successes of
    /// the others.
    func verdict(for scope: GateScope, isPacketAtFault: Bool) -> Gate.Verdict {
        switch action {
        case .acknowledge: return .stored
        case .split: return .reached
        case .readdress: return .none
        // SLS works, but takes no number of this logstore: another lane for each packet, without
        // end, would be requests that store nothing.
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
        // The credential may be refused, or this logstore alone: both wait at their gates.
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

/// What answers of a sort mean: for the packet, for counting, and in the words of SLS's SDKs.
struct Rule: Equatable {
    let action: Judgement.Action
    let kind: DeliveryFailure.Kind
    let result: ProducerResult

    init(
        _ action: Judgement.Action,
        _ kind: DeliveryFailure.Kind,
        _ result: ProducerResult
    ) {
        self.action = action
        self.kind = kind
        self.result = result
    }
}

/// The time in an answer, and what makes it credible.
struct AnswerTime: Equatable {
    /// The destination's time, in whole seconds; nil when the answer does not tell it.
    let told: WallTime?
    let isStored: Bool
    /// The request was refused because of the time that it was signed with.
    let isRefusedForItsTime: Bool
}

extension DeliveryFailure {
    init(_ judgement: Judgement, _ logstore: String, at time: WallTime) {
        self.init(
            kind: judgement.kind,
            result: judgement.result,
            logstore: logstore,
            status: judgement.status,
            code: judgement.code,
            message: judgement.message,
            requestID: judgement.requestID,
            remedy: judgement.remedy,
            at: time
        )
    }
}

extension Judgement {
    /// For a request without an answer. `isTaken` tells whether curl took something of the body,
    /// which may have arrived.
    init(_ problem: TransportProblem, message: String, isTaken: Bool) {
        self.init(
            action: .again(problem.scope),
            kind: .network,
            result: .sendNetworkError,
            code: problem.code,
            message: message,
            remedy: problem.remedy,
            isOutcomeUnknown: isTaken || !problem.isSurelyUnsent
        )
    }
}

extension DeathReason {
    /// `serverTime` is SLS's, where a log's time is measured by it.
    init(_ judgement: Judgement, at serverTime: WallTime? = nil) {
        self.init(
            code: judgement.code ?? "HTTP \(judgement.status ?? 0)",
            message: judgement.message,
            requestID: judgement.requestID,
            status: judgement.status,
            serverTime: serverTime
        )
    }
}

/// What is known about a request and its packet when the outcome is judged.
struct Attempt: Equatable {
    /// An earlier request with it had an unknown outcome, or came before the last start.
    var mayBeStored = false
    /// It was sent with a hash key and a sequence number.
    var hasLane = false
    /// Something of the packet may have arrived, whatever the outcome says.
    var isBodyTaken = false
}

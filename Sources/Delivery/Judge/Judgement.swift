/// What an answer means for a packet, for those who wait behind it, and for the operator.
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
        /// The packet or our settings are at fault, and the answer does not tell which. Only when other
        /// packets of the same outlet are stored is it the packet, and is split.
        case suspect
        /// The lane's number is used up by something else: the packet needs another lane.
        case relane
    }

    var action: Action
    var kind: DeliveryFailure.Kind
    let result: ProducerResult
    let status: Int?
    /// SLS's error code, or the transport's.
    let code: String?
    /// May hold what SLS was sent: redact the credential before showing it.
    var message: String
    let requestID: String?
    var remedy: String
    let retryAfter: Duration?
    /// The logs may be stored all the same, which makes a refused sequence number good news later.
    let isOutcomeUnknown: Bool
}

extension Judgement {
    /// SLS answered, whatever it said.
    var isAnswered: Bool { requestID != nil }

    /// Whose gate the answer moves, if any.
    var scope: GateScope? {
        switch action {
        case .again(let scope), .slowDown(let scope), .pause(let scope): scope
        case .suspect: .logstore
        case .acknowledge, .resign, .split, .relane: nil
        }
    }

    /// What a quota counts: only SLS's words tell (`Inflow Quota Exceed`, `Write QPS Exceed`).
    var quota: Quota {
        let words = message.lowercased()
        if words.contains("inflow") { return .bytes }
        return words.contains("qps") ? .requests : .unknown
    }
}

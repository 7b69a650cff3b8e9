import SLS

/// The rules of answers without a known code; `ErrorCode` has those of codes.
extension Judge {
    /// For answers with a request id and an unknown code, or none. The first row that fits.
    static let byStatus: [Rule.ByStatus] = [
        // The one status that is about the credential. Where it is about one logstore all the same,
        // the destination notices when other logstores store packets.
        .init(
            401...401,
            .unauthorized,
            "check the credential and its permission to write to this logstore"
        ),
        .init(
            403...403,
            .quota,
            "look the code up in the documentation of SLS; it may be a quota to raise",
            saying: "quota",
            "exceed"
        ),
        // A refusal for a reason of one logstore must not slow down the whole project.
        .init(
            403...403,
            Rule(.pause(.logstore), .other, .sendQuotaError),
            "look the code up in the documentation of SLS; it may be a permission or an access rule"
        ),
        .init(404...404, .noLogstore, "check endpoint, project and logstore"),
        .init(
            405...405,
            Rule(.suspect, .request, .parametersInvalid),
            "check the endpoint, and that nothing on the way changes requests"
        ),
        .init(413...413, .content, "lower packet.bytes of the destination"),
        .init(
            429...429,
            Rule(.slowDown(.logstore), .quota, .sendDiscardError),
            "none needed unless it lasts"
        ),
        .init(500...599, .server, "none needed unless it lasts"),
        .init(
            300...399,
            Rule(.pause(.project), .request, .sendDiscardError),
            "set the endpoint that the redirection leads to; Sluice follows none"
        ),
        .init(400...499, .suspect, "look the code up in the documentation of SLS"),
        .init(
            0...999,
            Rule(.again(.endpoint), .other, .sendDiscardError),
            "check the endpoint: SLS answers a write with 200 or an error"
        ),
    ]

    /// An answer without a request id: a captive portal, a proxy, another server. Even its 200 says
    /// nothing about the packet.
    static let foreign = Rule(.again(.endpoint), .notSLS, .sendServerError)

    static let foreignRemedy =
        "check the endpoint, and what stands between here and SLS (proxy, load balancer)"

    /// For a sequence number that Sluice cannot have used.
    static let relaneRemedy =
        "the packet goes again in another lane; if this lasts, SLS takes no sequence numbers for this "
        + "logstore: set exactly_once: false for the destination"

    static let transport = Rule(.again(.endpoint), .network, .sendNetworkError)

    /// What the answer to a proof tells about the credential. SLS looks at the signature before
    /// anything else, so any refusal for another reason accepts it.
    static func verdict(
        _ judgement: Judgement,
        _ isRealLogstore: Bool
    ) -> CredentialProof.Verdict {
        switch judgement.kind {
        // A credential that may not write to a logstore that does not exist may write to the
        // others, or to none.
        case .unauthorized where !isRealLogstore && judgement.action == .pause(.logstore):
            .undecided
        case .unauthorized: .refused
        case .content, .sequence, .suspended: .accepted
        // A 403 with an unknown code counts as a quota, and may mean anything.
        case .quota: judgement.code.flatMap(ErrorCode.known) == nil ? .undecided : .accepted
        case .notFound:
            judgement.code?.lowercased().hasPrefix("logstore") == true ? .accepted : .undecided
        case .other: judgement.action == .acknowledge ? .accepted : .undecided
        case .network, .notSLS, .server, .clock, .request, .queue, .write: .undecided
        }
    }
}

/// A row of the judge's table.
struct Rule: Equatable {
    enum Plan: Equatable {
        case again(GateScope)
        case slowDown(GateScope)
        case pause(GateScope)
        case resign
        case split
        case suspect
        case sequence
    }

    let plan: Plan
    let kind: DeliveryFailure.Kind
    let result: ProducerResult

    init(_ plan: Plan, _ kind: DeliveryFailure.Kind, _ result: ProducerResult) {
        self.plan = plan
        self.kind = kind
        self.result = result
    }
}

extension Rule {
    static let content = Rule(.split, .content, .sendDiscardError)
    static let suspect = Rule(.suspect, .request, .sendDiscardError)
    static let unauthorized = Rule(.pause(.project), .unauthorized, .sendUnauthorized)
    static let quota = Rule(.slowDown(.quota), .quota, .sendQuotaError)
    static let noLogstore = Rule(.pause(.logstore), .notFound, .sendUnauthorized)
    static let server = Rule(.again(.endpoint), .server, .sendServerError)

    /// For answers of SLS with an unknown code.
    struct ByStatus {
        let rule: Rule
        let statuses: ClosedRange<Int>
        let remedy: String
        /// One of these has to be in the code or the message; when there are none, any will do.
        let words: [String]

        init(
            _ statuses: ClosedRange<Int>,
            _ rule: Rule,
            _ remedy: String,
            saying words: String...
        ) {
            self.statuses = statuses
            self.rule = rule
            self.remedy = remedy
            self.words = words
        }

        func fits(_ answer: SLSAnswer) -> Bool {
            guard statuses.contains(answer.status) else { return false }
            if words.isEmpty { return true }
            let said = [answer.errorCode, answer.errorMessage].compactMap { $0?.lowercased() }
            return words.contains { word in said.contains { $0.contains(word) } }
        }
    }
}

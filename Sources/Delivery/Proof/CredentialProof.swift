import SLS

/// What SLS said to a request that was signed with a credential and carried no log.
package struct CredentialProof: Sendable, Equatable {
    package enum Verdict: Sendable, Equatable {
        /// SLS took the signature.
        case accepted
        /// SLS refused the signature.
        case refused
        /// Unknown: there was no answer, or one about something else.
        case undecided
    }

    package let verdict: Verdict
    package let destination: String
    package let endpoint: String
    package let status: Int?
    package let code: String?
    /// In SLS's own words, where it used any, without the credential.
    package let message: String
    package let requestID: String?
    package let remedy: String
    package let result: ProducerResult
}

extension CredentialProof {
    init(
        _ judgement: Judgement,
        of settings: DestinationSettings,
        at endpoint: Endpoint,
        isRealLogstore: Bool = true
    ) {
        verdict = Self.verdict(judgement, isRealLogstore)
        destination = settings.name
        self.endpoint = endpoint.description
        status = judgement.status
        code = judgement.code
        message = judgement.message
        requestID = judgement.requestID
        remedy = judgement.remedy
        result = judgement.result
    }

    /// SLS looks at the signature before anything else, so whatever it says of the rest is good news.
    private static func verdict(_ judgement: Judgement, _ isRealLogstore: Bool) -> Verdict {
        switch judgement.kind {
        // A credential that may not write to a logstore that does not exist may write to the others, or to none.
        case .unauthorized where !isRealLogstore && judgement.action == .pause(.logstore):
            .undecided
        case .unauthorized: .refused
        case .content, .sequence, .suspended: .accepted
        // A 403 with an unknown code counts as a quota, and may mean anything.
        case .quota: judgement.code.flatMap(ErrorCode.known) == nil ? .undecided : .accepted
        case .notFound:
            judgement.code?.lowercased().hasPrefix("logstore") == true ? .accepted : .undecided
        case .other: judgement.action == .acknowledge ? .accepted : .undecided
        case .network, .notSLS, .server, .clock, .request, .queue: .undecided
        }
    }
}

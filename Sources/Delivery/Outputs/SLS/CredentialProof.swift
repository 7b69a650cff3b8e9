import SLS

/// What SLS said to a request that was signed with a credential and carried no log.
package struct CredentialProof: Sendable, Equatable {
    package enum Verdict: String, Sendable {
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
        verdict = Judge.verdict(judgement, isRealLogstore)
        destination = settings.name
        self.endpoint = endpoint.description
        status = judgement.status
        code = judgement.code
        message = judgement.message
        requestID = judgement.requestID
        remedy = judgement.remedy
        result = judgement.result
    }
}

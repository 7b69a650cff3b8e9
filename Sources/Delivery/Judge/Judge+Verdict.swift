import SLS

/// The judge's first form, for a caller that only knows stored and not stored.
extension Judge {
    enum Verdict: Equatable {
        case stored
        case retry(Reason)
    }

    /// A failure without the circumstances that the judge does not look at.
    struct Reason: Equatable {
        var kind: DeliveryFailure.Kind
        var result: ProducerResult
        var status: Int?
        var code: String?
        var message: String
        var requestID: String?
        var remedy: String
    }

    static func verdict(on answer: SLSAnswer) -> Verdict { verdict(judge(answer)) }

    static func verdict(on problem: TransportProblem) -> Verdict { verdict(judge(problem)) }

    private static func verdict(_ judgement: Judgement) -> Verdict {
        if judgement.action == .acknowledge { return .stored }
        return .retry(
            Reason(
                kind: judgement.kind,
                result: judgement.result,
                status: judgement.status,
                code: judgement.code,
                message: judgement.message,
                requestID: judgement.requestID,
                remedy: judgement.remedy
            )
        )
    }
}

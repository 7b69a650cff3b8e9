import SLS

extension SLSAnswer {
    /// What metrics count it as: "OK", a code that is known, or what is common to all others. A server may make
    /// up any number of codes.
    var countedAs: String {
        if isStored { return "OK" }
        guard requestID != nil else { return "not_sls" }
        return errorCode.flatMap { ErrorCode.known($0)?.name } ?? "other"
    }

    var time: AnswerTime {
        // The two names that SLS has had for it.
        let codes: Set = ["RequestTimeExpired", "RequestTimeTooSkewed"]
        return AnswerTime(
            told: serverTime,
            isStored: isStored,
            isRefusedForItsTime: errorCode.map(codes.contains) ?? false
        )
    }
}

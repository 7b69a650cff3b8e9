import SLS

extension SLSAnswer {
    /// What metrics count it as: "OK", a code that is known, or what is common to all others. A server may make
    /// up any number of codes.
    var countedAs: String {
        if isStored { return "OK" }
        guard requestID != nil else { return "not_sls" }
        return errorCode.flatMap { ErrorCode.known($0)?.name } ?? "other"
    }
}

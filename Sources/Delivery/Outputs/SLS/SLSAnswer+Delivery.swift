import HTTPClient
import SLS
import System

extension ResponseUse {
    private static let slsHeaders: Set<String> = [
        "x-log-requestid", "x-log-time", "date", "retry-after",
    ]

    static var slsAnswer: ResponseUse {
        ResponseUse(headers: slsHeaders, body: .first(16 << 10, max: 256 << 10))
    }
}

extension SLSAnswer {
    init(_ response: TransferResponse) {
        self.init(
            status: response.head.status,
            headers: response.head.headers,
            body: response.body
        )
    }

    /// The label of the answer in metrics: "OK", a known code, or one word for all others, because
    /// a server may make up any number of codes.
    var countedAs: String {
        if isStored { return "OK" }
        guard requestID != nil else { return "not_sls" }
        return errorCode.flatMap { ErrorCode.known($0) == nil ? nil : $0 } ?? "other"
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

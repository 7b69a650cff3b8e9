import HTTPClient
import SLS
import System

// What HTTPClient is told of a request to SLS, and what SLS's answer is made of.

extension SLSOutput {
    /// What a request to SLS needs of its connection.
    func transferOptions(connectionsSince: Moment? = nil) -> TransferOptions {
        var options = TransferOptions(connectTimeout: settings.connectTimeout)
        if let file = settings.certificateAuthorities { options.trust = .authorities(file: file) }
        options.proxy = settings.proxy.map {
            TransferOptions.ProxyAccess(address: $0.address, user: $0.user, password: $0.password)
        }
        options.stallTimeout = settings.stallTimeout ?? settings.sendTimeout
        options.connectionsSince = connectionsSince
        return options
    }

    func answer(_ response: TransferResponse) -> SLSAnswer { SLSAnswer(response) }

    func judge(_ answer: SLSAnswer, _ attempt: Attempt) -> Judgement {
        Judge.judge(answer, attempt)
    }

    /// There was no answer. `isTaken` tells whether curl took something of the body.
    func judge(_ failure: TransferFailure, isTaken: Bool) -> Judgement {
        Judge.judge(TransportProblem(failure), isTaken: isTaken)
    }
}

extension TransferLoop {
    convenience init(forDelivery connections: Int) throws(DeliveryError) {
        do throws(CurlUnavailable) {
            try self.init(connections: connections)
        } catch {
            throw DeliveryError(description: error.description)
        }
    }
}

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
}

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

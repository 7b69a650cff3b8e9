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

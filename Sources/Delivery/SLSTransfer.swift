import HTTPClient
import SLS
import System

// What HTTPClient is told of a request to SLS, and what SLS's answer is made of.

extension TransferOptions {
    init(_ settings: DestinationSettings, connectionsSince: Moment? = nil) {
        self.init(connectTimeout: settings.connectTimeout)
        if let file = settings.certificateAuthorities { trust = .authorities(file: file) }
        proxy = settings.proxy.map {
            ProxyAccess(address: $0.address, user: $0.user, password: $0.password)
        }
        stallTimeout = settings.stallTimeout ?? settings.sendTimeout
        self.connectionsSince = connectionsSince
    }
}

extension TransferRequest {
    init(_ request: SLSOutput.Request, within settings: DestinationSettings) {
        self.init(request.url, keeping: .slsAnswer)
        method = "POST"
        headers = request.headers.map { "\($0.name): \($0.value)" }
        body = .plain(request.body)
        timeLimit = settings.timeLimit(bodyBytes: request.body.count)
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

package import Crypto
package import System

/// Sends one request to one server and waits for the answer: no redirects, no proxy, verified
/// certificates, bounded time, and answers of at most 64 KiB.
package struct WebClient: Sendable {
    package let interruption: Interruption
    private let addresses: AddressLookup

    private static let bodyBytesMax = 64 << 10

    package init(interruption: Interruption, addresses: AddressLookup = .system) {
        self.interruption = interruption
        self.addresses = addresses
    }

    package func ask(_ question: WebRequest) throws(WebFailure) -> WebAnswer {
        let loop: TransferLoop
        do throws(CurlUnavailable) {
            loop = try TransferLoop(connections: 1)
        } catch {
            throw .noAnswer("libcurl does not start")
        }
        var options = TransferOptions(connectTimeout: question.limits.connect)
        if let file = question.authorities { options.trust = .authorities(file: file) }
        let body = WipedBytes(countMax: question.isBodyWanted ? Self.bodyBytesMax : 0)
        let transfer = Transfer(options)
        let address = addresses.address(for: question.url, question.resolvers)
        transfer.prepare(request(question, to: address?.target, into: body))
        let outcome = loop.run(transfer, watching: .readable(interruption.descriptor)) {
            interruption.isSet
        }
        if let outcome { address?.note(outcome) }
        switch outcome {
        case nil: throw .interrupted
        case .answered(let response):
            return WebAnswer(status: response.head.status, date: response.head["date"], body: body)
        case .failed(let failure):
            switch failure.refusal {
            case .headTooLarge, .bodyTooLarge: throw .tooLarge
            case .lengthUnclear, nil: throw .noAnswer(failure.code.description)
            }
        }
    }

    /// Fetches an address.
    package func get(
        _ url: String,
        authorities: String?,
        limits: WebLimits
    ) throws(WebFailure) -> (status: Int, body: [UInt8]) {
        var request = WebRequest(url: url, limits: limits)
        request.authorities = authorities
        let answer = try ask(request)
        return (answer.status, answer.body.bytes)
    }

    /// Posts a JSON text and returns the answer's status; ignores the rest of the answer.
    package func post(
        _ json: [UInt8],
        to url: Secret,
        _ headers: [String],
        limits: WebLimits,
        resolvers: ResolverRules = []
    ) throws(WebFailure) -> Int {
        var request = WebRequest(
            method: "POST",
            url: url.revealed,
            headers: ["Content-Type: application/json"] + headers,
            limits: limits
        )
        request.content = json
        request.resolvers = resolvers
        request.isBodyWanted = false
        return try ask(request).status
    }

    private func request(
        _ question: WebRequest,
        to target: ConnectTarget?,
        into body: WipedBytes
    ) -> TransferRequest {
        var request = TransferRequest(
            question.url,
            keeping: ResponseUse(
                headers: ["date"],
                body: question.isBodyWanted ? .secret(body) : .none
            )
        )
        request.method = question.method
        request.headers = question.headers + ["User-Agent: sluice"]
        request.accept = "application/json"
        request.body =
            question.form.map { .secret(encoded($0)) } ?? question.content.map { .plain($0) }
        request.timeLimit = question.limits.total
        request.target = target
        return request
    }

    private func encoded(_ form: [(name: String, value: String)]) -> WipedBytes {
        let text = form.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
            .joined(separator: "&")
        let bytes = WipedBytes(countMax: text.utf8.count)
        _ = Array(text.utf8).withUnsafeBytes { bytes.append($0) }
        return bytes
    }
}

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

/// How long a server may take to answer.
package struct WebLimits: Sendable, Equatable {
    package var connect: Duration
    package var total: Duration

    package init(connect: Duration, total: Duration) {
        self.connect = connect
        self.total = total
    }
}

/// An address of a host.
package struct FoundAddress: Sendable {
    package let target: ConnectTarget
    /// Takes what became of a request to it, so that an address that fails is not the first choice
    /// again.
    package let note: @Sendable (TransferOutcome) -> Void

    package init(
        _ target: ConnectTarget,
        note: @escaping @Sendable (TransferOutcome) -> Void
    ) {
        self.target = target
        self.note = note
    }
}

/// Finds where to connect to for a host. For callers with a thread of their own: it may wait some
/// seconds.
package struct AddressLookup: Sendable {
    package typealias Find =
        @Sendable (_ host: String, _ port: Int, _ resolvers: ResolverRules) -> FoundAddress?

    private let find: Find

    package init(_ find: @escaping Find) {
        self.find = find
    }

    /// Leaves all names to the system.
    package static let system = AddressLookup { _, _, _ in nil }

    /// Nil: connect by the name.
    package func address(for url: String, _ resolvers: ResolverRules) -> FoundAddress? {
        guard !resolvers.isEmpty, let start = url.firstRange(of: "://")?.upperBound else {
            return nil
        }
        let authority = url[start...].prefix { !"/?#".contains($0) }
        let parts = authority.split(separator: ":")
        guard let host = parts.first, parts.count <= 2 else { return nil }
        let usual = url.hasPrefix("https:") ? 443 : 80
        return find(String(host), parts.count == 2 ? Int(parts[1]) ?? usual : usual, resolvers)
    }
}

/// One request for `WebClient`.
package struct WebRequest {
    package var method = "GET"
    package var url: String
    package var headers: [String] = []
    package var form: [(name: String, value: String)]?
    /// A body in place of a form.
    package var content: [UInt8]?
    /// If false, the response ends after its head, whatever body the server sends.
    package var isBodyWanted = true
    /// A file of authorities to trust in place of the system's.
    package var authorities: String?
    package var limits: WebLimits
    /// The resolvers to ask for the host's addresses, in order. Empty: the system.
    package var resolvers: ResolverRules = []

    package init(
        method: String = "GET",
        url: String,
        headers: [String] = [],
        form: [(name: String, value: String)]? = nil,
        limits: WebLimits
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.form = form
        self.limits = limits
    }
}

package struct WebAnswer {
    package let status: Int
    /// The Date header.
    package let date: String?
    package let body: WipedBytes
}

/// Why there is no answer.
package enum WebFailure: Error, Equatable {
    case interrupted
    case tooLarge
    /// curl's description; it contains nothing of the request.
    case noAnswer(String)
}

// MARK: - Conformances

extension WebRequest: CustomStringConvertible, CustomReflectable {
    /// Address, headers and form may each hold a secret.
    package var description: String { "\(method) …" }
    package var customMirror: Mirror { Mirror(self, children: ["method": method]) }
}

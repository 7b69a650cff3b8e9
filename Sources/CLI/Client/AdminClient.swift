import Configuration
import Crypto
import Glibc
import HTTPClient
import Net
import System

/// A client of a gateway's admin listener, for one request at a time.
struct AdminClient {
    /// There was no answer; one sentence with the remedy.
    struct Unreachable: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    private let access: AdminAccess
    private let patience: Duration

    /// A thousand dead letters of 1 MiB make a page too large to print anyway.
    private static let bodyBytesMax = 256 << 20

    init(_ access: AdminAccess, patience: Duration = .seconds(120)) {
        self.access = access
        self.patience = patience
    }

    func ask(_ request: AdminRequest) throws(Unreachable) -> AdminAnswer {
        var transfer = try transferRequest(
            request,
            keeping: ResponseUse(
                headers: ["x-sluice-next", "x-sluice-missing"],
                body: .first(Self.bodyBytesMax, max: Self.bodyBytesMax)
            )
        )
        transfer.timeLimit = patience
        switch try run(transfer) {
        case .answered(let response):
            let answer = AdminAnswer(
                status: response.head.status,
                body: response.body,
                next: response.head["x-sluice-next"],
                missing: response.head["x-sluice-missing"]
            )
            // A TLS listener answers a plain-text client like this.
            let said = "this port speaks TLS"
            if access.tls == nil, answer.status == 400, answer.text.contains(said) {
                throw unreachable(.weirdServerReply, said)
            }
            return answer
        case .failed(let failure) where failure.code == .timedOut && failure.isSent:
            throw Unreachable(description: tooLate(request))
        case .failed(let failure): throw unreachable(failure)
        case nil: preconditionFailure("nothing gives it up")
        }
    }

    /// Sets URL, method, body and token.
    func transferRequest(
        _ request: AdminRequest,
        keeping response: ResponseUse
    ) throws(Unreachable) -> TransferRequest {
        let url = "\(access.tls == nil ? "http" : "https")://\(access.address)\(request.target)"
        var transfer = TransferRequest(url, keeping: response)
        transfer.method = request.method.rawValue
        transfer.accept = request.accept
        if let token = access.token {
            transfer.headers.append("Authorization: Bearer \(token.revealed)")
        }
        if request.body != nil { transfer.headers.append("Content-Type: application/json") }
        // A change without a body sends one of length 0.
        if request.method != .get { transfer.body = .plain(request.body ?? []) }
        return transfer
    }

    /// Returns nil when `untilOutputIsGone` is set and the reader of standard output has closed it.
    func run(
        _ request: TransferRequest,
        stallTimeout: Duration? = nil,
        untilOutputIsGone: Bool = false
    ) throws(Unreachable) -> TransferOutcome? {
        let loop: TransferLoop
        do throws(CurlUnavailable) {
            loop = try TransferLoop(connections: 1)
        } catch {
            throw Unreachable(description: error.description)
        }
        var options = try options
        options.stallTimeout = stallTimeout
        let transfer = Transfer(options)
        transfer.prepare(request)
        guard untilOutputIsGone else { return loop.run(transfer) }
        return loop.run(transfer, watching: .broken(StandardOutput.descriptor)) {
            StandardOutput.isGone
        }
    }

    func unreachable(_ failure: TransferFailure) -> Unreachable {
        unreachable(failure.code, failure.detail, failure.certificateVerdict)
    }

    private func unreachable(
        _ code: CurlCode,
        _ details: String,
        _ verdict: Int = 0
    ) -> Unreachable {
        let failure = ConnectionFailure(
            code: code,
            details: details,
            verdict: verdict,
            access: access
        )
        return Unreachable(description: failure.description)
    }

    private var options: TransferOptions {
        get throws(Unreachable) {
            var options = TransferOptions(connectTimeout: .seconds(5))
            guard let tls = access.tls else { return options }
            options.trust = try trust(tls.trust)
            guard let certificate = tls.certificate else { return options }
            try readable(certificate.chainFile, "--admin-cert or admin.client.certificate")
            try readable(certificate.keyFile, "--admin-key or admin.client.key")
            options.clientCertificate = .init(
                chainFile: certificate.chainFile,
                keyFile: certificate.keyFile
            )
            return options
        }
    }

    private func trust(_ trust: AdminTLS.Trust) throws(Unreachable) -> TransferOptions.Trust {
        switch trust {
        case .system: return .system
        case .authorities(let file):
            try readable(file, "--admin-ca or admin.client.ca")
            return .authorities(file: file)
        case .certificate(let file):
            do throws(TLSError) {
                return .pinned(file: file, keyHash: try CertificatePin(file: file).description)
            } catch {
                throw Unreachable(
                    description:
                        "\(error.description); or name the authority of the gateway's certificate "
                        + "with --admin-ca FILE"
                )
            }
        }
    }

    /// Finds the unreadable file and the reason, which curl does not report.
    private func readable(_ file: String, _ source: String) throws(Unreachable) {
        guard Glibc.access(file, R_OK) != 0 else { return }
        throw Unreachable(
            description:
                "\(file) cannot be read: \(String(cString: strerror(errno))); it is named by "
                + source
        )
    }

    /// The gateway completes a change even when its client stops waiting.
    private func tooLate(_ request: AdminRequest) -> String {
        let silence =
            "the gateway at \(access.address) has not answered within "
            + "\(Int(patience / .seconds(1))) s"
        return request.isReading
            ? "\(silence); try again when it is less busy"
            : "\(silence), but it continues the request; check the result with: "
                + (request.path.contains("dead-letters")
                    ? "sluice status shows how many dead letters are left"
                    : "sluice status, and GET /admin/audit")
    }
}

extension AdminClient {
    /// How a stream ended.
    enum StreamEnd {
        /// The gateway gave another answer.
        case refused(AdminAnswer)
        case unreachable(Unreachable)
        /// The gateway ended the stream, or the connection broke.
        case over
        /// The consumer stopped, or the reader of standard output closed it.
        case left
    }

    /// The gateway sends something every 15 seconds.
    private static let silenceMax: Duration = .seconds(45)
    private static let refusalBytesMax = 64 << 10

    /// Passes the body of a 200 on, until the consumer stops or the reader of standard output
    /// closes it, which is noticed between two logs too.
    func follow(_ request: AdminRequest, take: @escaping ([UInt8]) -> Bool) -> StreamEnd {
        var refusal: [UInt8] = []
        var hasEnough = false
        let response = ResponseUse(
            headers: ["content-type"],
            body: .stream { head, piece in
                guard Self.isStream(head) else {
                    refusal += piece.prefix(Self.refusalBytesMax - refusal.count)
                    return true
                }
                hasEnough = !take(Array(piece))
                return !hasEnough
            }
        )
        do throws(Unreachable) {
            let outcome = try run(
                try transferRequest(request, keeping: response),
                stallTimeout: Self.silenceMax,
                untilOutputIsGone: true
            )
            guard let outcome, !hasEnough else { return .left }
            let head =
                switch outcome {
                case .answered(let response): response.head
                case .failed(let failure): failure.head
                }
            if Self.isStream(head) { return .over }
            if case .failed(let failure) = outcome, head.status == 0 {
                return .unreachable(unreachable(failure))
            }
            return .refused(AdminAnswer(status: head.status, body: refusal))
        } catch {
            return .unreachable(error)
        }
    }

    /// Something other than the gateway may answer.
    private static func isStream(_ head: TransferResponse.Head) -> Bool {
        head.status == 200
            && head["content-type"]?.lowercased().hasPrefix("text/event-stream") == true
    }
}

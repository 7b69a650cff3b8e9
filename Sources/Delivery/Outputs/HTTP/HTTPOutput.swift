import Crypto
import HTTPClient
import Logs
import Queue
import SLS
import System

/// Posts packets as JSON to an HTTP server, and judges its answers.
struct HTTPOutput: Output {
    let settings: DestinationSettings
    private let target: HTTPTarget
    /// Sent with every request.
    private let commonHeaders: [String]
    /// Sent only with a body.
    private let bodyHeaders: [String]
    private let judge: HTTPJudge

    init(_ settings: DestinationSettings, _ target: HTTPTarget, userAgent: String) {
        self.settings = settings
        self.target = target
        var headers = target.headers.map { "\($0.name): \($0.value.revealed)" }
        if !target.headers.contains(where: { $0.name == "user-agent" }) {
            headers.append("User-Agent: \(userAgent)")
        }
        commonHeaders = headers
        headers = [
            target.body == .array
                ? "Content-Type: application/json" : "Content-Type: application/x-ndjson"
        ]
        if target.compression != .none {
            headers.append("Content-Encoding: \(target.compression.rawValue)")
        }
        bodyHeaders = headers
        judge = HTTPJudge(target)
    }

    func bodyBytesMax(of lease: Lease) -> Int { jsonBytes(of: lease.packet) }

    /// The body is the same whenever the packet is sent, so that its server knows a repetition by
    /// the Idempotency-Key.
    func work(
        for packet: SealedPacket,
        _ blocks: [StoredBlock],
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) throws(Unsendable) -> CarrierWork {
        let text = try json(of: packet, blocks, as: target.shape, target.body)
        let body = compressed(text)
        var request = TransferRequest(target.url.revealed, keeping: .httpAnswer)
        request.method = "POST"
        request.headers = bodyHeaders + commonHeaders + ["Idempotency-Key: \(packet.packID)"]
        request.body = .plain(body)
        request.timeLimit = settings.transport.timeLimit(bodyBytes: body.count)
        return .request(request)
    }

    /// A request without logs, for `HTTPInspection`.
    func test() -> TransferRequest {
        var request = TransferRequest(target.url.revealed, keeping: .httpAnswer)
        request.method = "HEAD"
        request.headers = commonHeaders
        return request
    }

    private func compressed(_ text: [UInt8]) -> [UInt8] {
        switch target.compression {
        case .gzip: return Gzip.compress(text)
        case .zstd: return Zstd.compress(text)
        case .none: return text
        }
    }

    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement {
        switch outcome {
        case .request(.answered(let response)): judge.judge(response)
        case .request(.failed(let failure)):
            judge.judge(TransportProblem(failure), isTaken: attempt.isBodyTaken)
        case .lines: preconditionFailure("this output's carrier is another one")
        }
    }
}

extension ResponseUse {
    static var httpAnswer: ResponseUse {
        ResponseUse(
            headers: ["date", "location", "retry-after", "x-request-id"],
            body: .first(HTTPJudge.bodyBytesKept, max: 1 << 20)
        )
    }
}

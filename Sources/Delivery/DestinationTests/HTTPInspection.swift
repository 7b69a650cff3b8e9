import HTTPClient
import SLS
import System

/// Tests whether the server of an `http` destination can be reached: name, connection, TLS, and one
/// HEAD request with the configured headers.
///
/// It sends no POST: a server may take even an empty array for a delivery, and store it. HEAD
/// changes nothing (RFC 9110, section 9.2.1), but a server may answer it in another way than POST.
/// So only answers that hold for both are taken for a verdict.
struct HTTPInspection {
    private let settings: DestinationSettings
    private let target: HTTPTarget
    private let request: TransferRequest
    private let judge: HTTPJudge

    init(_ settings: DestinationSettings, _ target: HTTPTarget, _ userAgent: String) {
        self.settings = settings
        self.target = target
        request = HTTPOutput(settings, target, userAgent: userAgent).test()
        judge = HTTPJudge(target)
    }

    func result(
        _ addresses: AddressLookup,
        _ patience: Duration,
        _ isInterrupted: () -> Bool
    ) throws(DeliveryError) -> DestinationTest {
        let deadline = Moment.now + patience
        let loop = try TransferLoop(forDelivery: 1)
        let transport = settings.transport
        let address = addresses.address(
            for: request.url,
            // A proxy resolves by itself.
            transport.proxy == nil ? transport.resolvers : []
        )
        var request = request
        request.target = address?.target
        request.timeLimit = max(.milliseconds(1), deadline - .now)
        let transfer = Transfer(transport.options())
        transfer.prepare(request)
        let outcome = loop.run(transfer) { isInterrupted() || Moment.now >= deadline }
        if let outcome { address?.note(outcome) }
        switch outcome {
        case .answered(let response): return test(response)
        case .failed(let failure): return test(TransportProblem(failure))
        case nil: return test(.late(patience))
        }
    }

    private func test(_ response: TransferResponse) -> DestinationTest {
        let status = response.head.status
        let judged = judge.judge(response)
        var test = DestinationTest(
            settings.name,
            at: target.place.description,
            fine: "\(reached(response.route)); it answers HEAD with \(status). No log was sent"
        )
        test.status = status
        test.requestID = judged.requestID
        switch status {
        case 401, 407:
            test.verdict = .refused
            test.remedy = judged.remedy
        // 501 is accepted: the server can be reached and does not know HEAD.
        case 300...399, 500, 502...599:
            test.verdict = .undecided
            test.remedy = judged.remedy
        case 403, 404, 410:
            test.verdict = .undecided
            test.remedy =
                "check url and headers; a server that knows only POST may answer HEAD this way, so confirm with a real log"
        default: break
        }
        if test.verdict != .accepted { test.code = "HTTP\(status)" }
        return test
    }

    private func test(_ problem: TransportProblem) -> DestinationTest {
        let judged = judge.judge(problem, isTaken: false)
        return DestinationTest(
            destination: settings.name,
            endpoint: target.place.description,
            verdict: .undecided,
            status: nil,
            code: judged.code,
            message: judged.message,
            requestID: nil,
            remedy: judged.remedy
        )
    }

    /// "reached 192.0.2.7 in 12ms, with a verified certificate"
    private func reached(_ route: TransferRoute) -> String {
        let proxy = settings.transport.proxy == nil ? "" : " through the proxy"
        let address = route.address.isEmpty ? "the server" : route.address
        let time = route.connectTime.map { " in \(spanText($0))" } ?? ""
        let proof = target.place.scheme == .https ? ", with a verified certificate" : ""
        return "reached \(address)\(proxy)\(time)\(proof)"
    }
}

extension TransportProblem {
    fileprivate static func late(_ patience: Duration) -> TransportProblem {
        TransportProblem(
            .timedOut,
            detail: "no answer within \(spanText(patience))"
        )
    }
}

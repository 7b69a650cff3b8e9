package import Configuration
package import HTTPClient
import SLS
package import System

/// The result of a test of a destination, or of a credential there. A test delivers no log.
package struct DestinationTest: Sendable, Equatable {
    package enum Verdict: String, Sendable {
        /// Logs can be delivered. SLS took the signature.
        case accepted
        case refused
        /// Unknown: there was no answer, or one about something else.
        case undecided
    }

    package var destination: String
    /// Where the logs go: the endpoint, the file, or "stdout".
    package var endpoint: String
    package var verdict: Verdict
    package var status: Int?
    package var code: String?
    /// What was found, in a sentence. For SLS its own words, where it used any.
    package var message: String
    package var requestID: String?
    package var remedy: String
}

extension DestinationTest {
    init(_ destination: String, at endpoint: String, fine message: String) {
        self.init(
            destination: destination,
            endpoint: endpoint,
            verdict: .accepted,
            message: message,
            remedy: "none needed"
        )
    }

    init(
        _ destination: String,
        at endpoint: String,
        _ problem: WriteProblem,
        _ verdict: DestinationTest.Verdict = .refused
    ) {
        self.init(
            destination: destination,
            endpoint: endpoint,
            verdict: verdict,
            code: problem.code,
            message: problem.message,
            remedy: problem.remedy
        )
    }
}

/// Tests destinations as they are configured, and credentials there (`prove`). For a thread that
/// may wait.
package struct DestinationTester: Sendable {
    package var userAgent = "sluice"
    package var addresses = AddressLookup.system
    /// An operator waits for the answer of a test without a credential.
    package var patience: Duration = .seconds(15)
    package var now: @Sendable () -> WallTime = { .now }
    package var isInterrupted: @Sendable () -> Bool = { false }
    /// A file system that hangs holds the thread that asked it. No second one joins it.
    private let isInspecting = Locked(false)

    package init() {}

    /// Tests a destination of a kind other than sls. Throws when the test cannot be made.
    package func test(_ settings: Destination) throws(DeliveryError) -> DestinationTest {
        switch settings.kind {
        case .sls: throw DeliveryError(description: "this kind is tested with its credential")
        case .http:
            return try HTTPInspection(settings, self).result()
        case .file:
            let target = settings.file
            return try inspect {
                FileInspection(target: target).result(of: settings.name)
            } late: {
                DestinationTest(
                    settings.name,
                    at: target.path,
                    .silent(target, patience),
                    .undecided
                )
            }
        case .stdout: return StdoutInspection().result(of: settings.name)
        }
    }

    private func inspect(
        _ look: @escaping @Sendable () -> DestinationTest,
        late: () -> DestinationTest
    ) throws(DeliveryError) -> DestinationTest {
        let isFree = isInspecting.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
        guard isFree else {
            throw DeliveryError(
                description:
                    "an earlier test of a file still waits for its file system; check the mounts"
            )
        }
        do throws(SystemError) {
            let result = try Promise<DestinationTest>()
            let worker = try Worker("file-test") { [isInspecting] in
                let found = look()
                isInspecting.withLock { $0 = false }
                result.bring(found)
            }
            worker.leave()
            return result.wait(atMost: patience) ?? late()
        } catch {
            isInspecting.withLock { $0 = false }
            throw DeliveryError(description: "the test cannot start: \(error)")
        }
    }
}

extension WriteProblem {
    fileprivate static func silent(_ target: FileTarget, _ patience: Duration) -> WriteProblem {
        WriteProblem(
            code: "TIMEOUT",
            message: "\(target.path): the file system gave no answer for \(spanText(patience))",
            remedy: "check the disk, or the network file system, that holds the path"
        )
    }
}

/// Tests whether the server of an `http` destination can be reached: name, connection, TLS, and one
/// HEAD request with the configured headers. A server may store even an empty array that is posted.
/// HEAD changes nothing (RFC 9110, section 9.2.1), but may be answered in another way than POST, so
/// only answers that hold for both decide.
struct HTTPInspection {
    private let settings: Destination
    private let tester: DestinationTester
    private let place: Endpoint
    private let judge: HTTPJudge

    init(_ settings: Destination, _ tester: DestinationTester) {
        self.settings = settings
        self.tester = tester
        place = settings.http.webAddress.place
        judge = HTTPJudge(settings.http)
    }

    func result() throws(DeliveryError) -> DestinationTest {
        let deadline = Moment.now + tester.patience
        let loop = try TransferLoop(forDelivery: 1)
        var request = HTTPOutput(settings, userAgent: tester.userAgent).test()
        let address = tester.addresses.address(for: request.url, settings.resolversAsked)
        request.target = address?.target
        request.timeLimit = max(.milliseconds(1), deadline - .now)
        let transfer = Transfer(settings.options())
        transfer.prepare(request)
        let outcome = loop.run(transfer) { tester.isInterrupted() || Moment.now >= deadline }
        if let outcome { address?.note(outcome) }
        switch outcome {
        case .answered(let response): return test(response)
        case .failed(let failure): return test(TransportProblem(failure))
        case nil: return test(.late(tester.patience))
        }
    }

    private func test(_ response: TransferResponse) -> DestinationTest {
        let status = response.head.status
        let judged = judge.judge(response)
        var test = DestinationTest(
            settings.name,
            at: place.description,
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
            endpoint: place.description,
            verdict: .undecided,
            code: judged.code,
            message: judged.message,
            remedy: judged.remedy
        )
    }

    /// "reached 192.0.2.7 in 12ms, with a verified certificate"
    private func reached(_ route: TransferRoute) -> String {
        let proxy = settings.transfer.transport.proxy == nil ? "" : " through the proxy"
        let address = route.address.isEmpty ? "the server" : route.address
        let time = route.connectTime.map { " in \(spanText($0))" } ?? ""
        let proof = place.scheme == .https ? ", with a verified certificate" : ""
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

import CCurl
package import SLS
package import System

/// Tries out a credential before it is used: a PutLogs as a packet would be sent, by the same ways, with a log
/// group that holds no log. So the proof wants no permission that delivery does not want, and stores nothing.
package struct CredentialProver: Sendable {
    private let settings: DestinationSettings
    private let userAgent: String
    private let now: @Sendable () -> WallTime
    /// Somebody waits for the answer.
    private let patience: Duration
    private let isInterrupted: @Sendable () -> Bool

    package init(
        _ settings: DestinationSettings,
        userAgent: String = "sluice",
        patience: Duration = .seconds(30),
        now: @escaping @Sendable () -> WallTime = { .now },
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.settings = settings
        self.userAgent = userAgent
        self.patience = patience
        self.now = now
        self.isInterrupted = isInterrupted
    }

    /// A source that is empty, and nothing else.
    private static let emptyGroup: [UInt8] = [0x22, 0x00]
    /// Where no logstore is known: whether it exists says nothing.
    private static let anyLogstore = "sluice-proof"

    /// Asks each endpoint until one answers or patience ends, so it is not for a thread that others wait for.
    package func prove(
        _ credential: Credential,
        logstore: String?
    ) throws(DeliveryError) -> CredentialProof {
        let output: SLSOutput
        do throws(EndpointError) {
            output = try SLSOutput(settings, userAgent: userAgent)
        } catch {
            throw DeliveryError(description: error.description)
        }
        let multi = try Multi(connections: 1)
        let deadline = Moment.now + patience
        var proof: CredentialProof?
        for endpoint in settings.endpoints {
            guard proof == nil || (Moment.now < deadline && !isInterrupted()) else { break }
            let judgement = ask(
                credential,
                logstore ?? Self.anyLogstore,
                endpoint,
                output,
                multi,
                deadline
            )
            let last = CredentialProof(
                judgement,
                credential,
                of: settings,
                at: endpoint
            )
            proof = last
            guard last.requestID == nil else { break }
        }
        guard let proof else { throw DeliveryError(description: "there is no endpoint to ask") }
        return proof
    }

    /// A second time with SLS's own time, when that is what it asks for.
    private func ask(
        _ credential: Credential,
        _ logstore: String,
        _ endpoint: Endpoint,
        _ output: SLSOutput,
        _ multi: Multi,
        _ deadline: Moment
    ) -> Judgement {
        var time = now() + settings.clockOffset
        var tries = 0
        while true {
            let request = request(credential, logstore, endpoint, output, at: time)
            tries += 1
            switch send(request, multi, deadline) {
            case .failed(let problem): return Judge.judge(problem)
            case .answered(let answer):
                let judgement = Judge.judge(answer)
                guard judgement.action == .resign, tries < 2, let told = answer.serverTime else {
                    return judgement
                }
                time = told
            }
        }
    }

    private func request(
        _ credential: Credential,
        _ logstore: String,
        _ endpoint: Endpoint,
        _ output: SLSOutput,
        at time: WallTime
    ) -> SLSOutput.Request {
        let put = PutLogsRequest(
            endpoint: endpoint,
            project: settings.project,
            logstore: logstore,
            compression: .none,
            userAgent: userAgent
        )
        let (url, headers) = put.signed(
            body: Self.emptyGroup,
            rawBytes: Self.emptyGroup.count,
            by: credential,
            output.signing,
            at: time
        )
        return SLSOutput.Request(url: url, headers: headers, body: Self.emptyGroup)
    }

    private func send(
        _ request: SLSOutput.Request,
        _ multi: Multi,
        _ deadline: Moment
    ) -> Transfer.Outcome {
        let transfer = Transfer(settings)
        transfer.prepare(request, nil)
        multi.add(transfer)
        var outcome: Transfer.Outcome?
        while true {
            multi.perform { transfer, result in outcome = transfer.outcome(result) }
            if let outcome { return outcome }
            guard Moment.now < deadline, !isInterrupted() else {
                transfer.leaveQuickly()
                multi.remove(transfer)
                let detail = "no answer came for as long as the proof waits"
                return .failed(
                    TransportProblem(CURLE_OPERATION_TIMEDOUT, detail: detail, proxyStatus: 0)
                )
            }
            multi.wait(.milliseconds(200))
        }
    }
}

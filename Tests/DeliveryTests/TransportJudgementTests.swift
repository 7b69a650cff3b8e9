import HTTPClient
import Testing

@testable import Delivery

@Suite struct TransportJudgementTests {
    @Test(
        "A problem of the transport tells what to check, how far it reaches and what may have arrived",
        arguments: [
            (CurlCode.couldNotResolveHost, "CURLE_6", "name service", GateScope.project, false),
            (.couldNotResolveProxy, "CURLE_5", "name in proxy", .endpoint, false),
            (.proxyFailed, "CURLE_97", "check proxy", .endpoint, false),
            (.couldNotConnect, "CURLE_7", "firewall", .endpoint, false),
            (.tlsConnectError, "CURLE_35", "TLS 1.2", .endpoint, false),
            (.peerNotVerified, "CURLE_60", "intercepts TLS", .project, false),
            (.badAuthoritiesFile, "CURLE_77", "certificate authorities", .project, false),
            (.timedOut, "CURLE_28", "send_timeout", .endpoint, true),
            (.sendError, "CURLE_55", "", .endpoint, true),
            (.receiveError, "CURLE_56", "", .endpoint, true),
            (.gotNothing, "CURLE_52", "", .endpoint, true),
            (.partialFile, "CURLE_18", "", .endpoint, true),
            (.abortedByCallback, "CURLE_42", "", .endpoint, true),
        ]
    )
    func transport(
        result: CurlCode,
        code: String,
        remedy: String,
        scope: GateScope,
        mayBeStored: Bool
    ) {
        let problem = TransportProblem(result, detail: "what curl wrote")
        let judgement = Judge.judge(problem)
        #expect(judgement.action == .again(scope))
        #expect(judgement.kind == .network)
        #expect(judgement.result == .sendNetworkError)
        #expect(judgement.code == code)
        #expect(judgement.message.hasSuffix(": what curl wrote"))
        #expect(remedy.isEmpty || judgement.remedy.contains(remedy))
        #expect(!judgement.remedy.isEmpty)
        #expect(judgement.isOutcomeUnknown == mayBeStored)
    }

    @Test("Silence proves nothing about project and logstore")
    func verdicts() {
        let silence = Judge.judge(TransportProblem(.timedOut, detail: ""))
        #expect(silence.verdict(for: .endpoint, isPacketAtFault: true) == .failed)
        #expect(silence.verdict(for: .project, isPacketAtFault: true) == .none)
        #expect(silence.verdict(for: .logstore, isPacketAtFault: true) == .failed)
        let unknownName = Judge.judge(TransportProblem(.couldNotResolveHost, detail: ""))
        #expect(unknownName.verdict(for: .endpoint, isPacketAtFault: true) == .none)
        #expect(unknownName.verdict(for: .project, isPacketAtFault: true) == .failed)
        #expect(unknownName.verdict(for: .logstore, isPacketAtFault: true) == .none)
    }
}

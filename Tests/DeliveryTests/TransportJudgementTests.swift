import CCurl
import Testing

@testable import Delivery

@Suite struct TransportJudgementTests {
    @Test(
        "A problem of the transport tells what to check, how far it reaches and what may have arrived",
        arguments: [
            (CURLE_COULDNT_RESOLVE_HOST, "CURLE_6", "name service", GateScope.project, false),
            (CURLE_COULDNT_RESOLVE_PROXY, "CURLE_5", "name in proxy", .region, false),
            (CURLE_PROXY, "CURLE_97", "check proxy", .region, false),
            (CURLE_COULDNT_CONNECT, "CURLE_7", "firewall", .region, false),
            (CURLE_SSL_CONNECT_ERROR, "CURLE_35", "TLS 1.2", .region, false),
            (CURLE_PEER_FAILED_VERIFICATION, "CURLE_60", "intercepts TLS", .project, false),
            (CURLE_SSL_CACERT_BADFILE, "CURLE_77", "certificate authorities", .project, false),
            (CURLE_OPERATION_TIMEDOUT, "CURLE_28", "send_timeout", .region, true),
            (CURLE_SEND_ERROR, "CURLE_55", "", .region, true),
            (CURLE_RECV_ERROR, "CURLE_56", "", .region, true),
            (CURLE_GOT_NOTHING, "CURLE_52", "", .region, true),
            (CURLE_PARTIAL_FILE, "CURLE_18", "", .region, true),
            (CURLE_ABORTED_BY_CALLBACK, "CURLE_42", "", .region, true),
        ]
    )
    func transport(
        result: CURLcode,
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

    @Test("Silence says nothing about what lies behind the region")
    func verdicts() {
        let silence = Judge.judge(TransportProblem(CURLE_OPERATION_TIMEDOUT, detail: ""))
        #expect(silence.verdict(for: .region, isOutletProven: true) == .failed)
        #expect(silence.verdict(for: .project, isOutletProven: true) == .none)
        #expect(silence.verdict(for: .logstore, isOutletProven: true) == .failed)
        let unknownName = Judge.judge(TransportProblem(CURLE_COULDNT_RESOLVE_HOST, detail: ""))
        #expect(unknownName.verdict(for: .region, isOutletProven: true) == .none)
        #expect(unknownName.verdict(for: .project, isOutletProven: true) == .failed)
        #expect(unknownName.verdict(for: .logstore, isOutletProven: true) == .none)
    }
}

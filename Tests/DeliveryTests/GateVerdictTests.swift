import HTTPClient
import TestSupport
import Testing

@testable import Delivery

/// Whose gate an answer moves, and where to.
@Suite struct GateVerdictTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let status: Int
        let code: String?
        /// Of the endpoint, the quota, the project and the logstore.
        let verdicts: [Gate.Verdict]

        init(_ status: Int, _ code: String?, _ verdicts: Gate.Verdict...) {
            self.status = status
            self.code = code
            self.verdicts = verdicts
        }

        var testDescription: String { "\(status) \(code ?? "")" }
    }

    static let rows: [Row] = [
        Row(200, nil, .stored, .stored, .stored, .stored),
        Row(503, "ServerBusy", .failed, .none, .none, .failed),
        Row(403, "WriteQuotaExceed", .reached, .overQuota(.unknown), .reached, .none),
        Row(403, "ShardWriteQuotaExceed", .reached, .reached, .reached, .overQuota(.unknown)),
        Row(401, "SignatureNotMatch", .reached, .none, .forbidden, .none),
        Row(401, "Unauthorized", .reached, .reached, .reached, .forbidden),
        Row(404, "ProjectNotExist", .reached, .none, .forbidden, .none),
        Row(404, "LogStoreNotExist", .reached, .reached, .reached, .forbidden),
        Row(403, "ProjectForbidden", .reached, .none, .suspended, .none),
        Row(400, "PostBodyInvalid", .reached, .reached, .reached, .reached),
        Row(400, "RequestTimeExpired", .reached, .none, .none, .none),
        Row(400, "ParameterInvalid", .reached, .none, .none, .none),
    ]

    @Test("An answer moves the gates that it concerns, and no other", arguments: rows)
    func verdicts(row: Row) {
        let judgement = Judge.judge(JudgeTests.answer(row.status, row.code))
        let scopes: [GateScope] = [.endpoint, .quota, .project, .logstore]
        #expect(scopes.map { judgement.verdict(for: $0, isPacketAtFault: true) } == row.verdicts)
    }

    @Test("A number that is used up at the first attempt counts against the logstore alone")
    func relane() {
        let answer = JudgeTests.answer(400, "InvalidSequenceId")
        let judgement = Judge.judge(answer, Attempt(hasLane: true))
        #expect(judgement.verdict(for: .logstore, isPacketAtFault: true) == .failed)
        #expect(judgement.verdict(for: .project, isPacketAtFault: true) == .reached)
        #expect(judgement.verdict(for: .quota, isPacketAtFault: true) == .reached)
        #expect(judgement.verdict(for: .endpoint, isPacketAtFault: true) == .reached)
    }

    @Test("A suspect packet closes its logstore until something is stored there")
    func suspect() {
        let judgement = Judge.judge(JudgeTests.answer(400, "ParameterInvalid"))
        #expect(judgement.verdict(for: .logstore, isPacketAtFault: false) == .forbidden)
        #expect(judgement.verdict(for: .project, isPacketAtFault: false) == .none)
        #expect(judgement.verdict(for: .endpoint, isPacketAtFault: false) == .reached)
    }
}

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

import HTTPClient
import TestSupport
import Testing

@testable import Delivery

/// Whose gate an answer moves, and where to.
@Suite struct GateVerdictTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let status: Int
        let code: String?
        let endpoint: Gate.Verdict
        let quota: Gate.Verdict
        let project: Gate.Verdict
        let logstore: Gate.Verdict

        var testDescription: String { "\(status) \(code ?? "")" }
    }

    static let rows: [Row] = [
        Row(
            status: 200,
            code: nil,
            endpoint: .stored,
            quota: .stored,
            project: .stored,
            logstore: .stored
        ),
        Row(
            status: 503,
            code: "ServerBusy",
            endpoint: .failed,
            quota: .none,
            project: .none,
            logstore: .failed
        ),
        Row(
            status: 403,
            code: "WriteQuotaExceed",
            endpoint: .reached,
            quota: .overQuota(.unknown),
            project: .reached,
            logstore: .none
        ),
        Row(
            status: 403,
            code: "ShardWriteQuotaExceed",
            endpoint: .reached,
            quota: .reached,
            project: .reached,
            logstore: .overQuota(.unknown)
        ),
        Row(
            status: 401,
            code: "SignatureNotMatch",
            endpoint: .reached,
            quota: .none,
            project: .forbidden,
            logstore: .none
        ),
        Row(
            status: 401,
            code: "Unauthorized",
            endpoint: .reached,
            quota: .reached,
            project: .reached,
            logstore: .forbidden
        ),
        Row(
            status: 404,
            code: "ProjectNotExist",
            endpoint: .reached,
            quota: .none,
            project: .forbidden,
            logstore: .none
        ),
        Row(
            status: 404,
            code: "LogStoreNotExist",
            endpoint: .reached,
            quota: .reached,
            project: .reached,
            logstore: .forbidden
        ),
        Row(
            status: 403,
            code: "ProjectForbidden",
            endpoint: .reached,
            quota: .none,
            project: .suspended,
            logstore: .none
        ),
        Row(
            status: 400,
            code: "PostBodyInvalid",
            endpoint: .reached,
            quota: .reached,
            project: .reached,
            logstore: .reached
        ),
        Row(
            status: 400,
            code: "RequestTimeExpired",
            endpoint: .reached,
            quota: .none,
            project: .none,
            logstore: .none
        ),
        Row(
            status: 400,
            code: "ParameterInvalid",
            endpoint: .reached,
            quota: .none,
            project: .none,
            logstore: .none
        ),
    ]

    @Test("An answer moves the gates that it concerns, and no other", arguments: rows)
    func verdicts(row: Row) {
        let judgement = Judge.judge(JudgeTests.answer(row.status, row.code))
        #expect(judgement.verdict(for: .endpoint, isPacketAtFault: true) == row.endpoint)
        #expect(judgement.verdict(for: .quota, isPacketAtFault: true) == row.quota)
        #expect(judgement.verdict(for: .project, isPacketAtFault: true) == row.project)
        #expect(judgement.verdict(for: .logstore, isPacketAtFault: true) == row.logstore)
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

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

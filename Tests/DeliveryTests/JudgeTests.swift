import Crypto
import HTTPClient
import SLS
import TestSupport
import Testing

@testable import Delivery

@Suite struct JudgeTests {
    static let id = (name: "x-log-requestid", value: "5642FC2399248C8F7B0145FD")

    static func answer(_ status: Int, _ code: String? = nil, _ message: String = "m") -> SLSAnswer {
        let body = code.map { #"{"errorCode":"\#($0)","errorMessage":"\#(message)"}"# } ?? "<html>"
        return SLSAnswer(status: status, headers: [id], body: Array(body.utf8))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let status: Int
        let code: String
        let action: Judgement.Action
        let kind: DeliveryFailure.Kind
        let result: ProducerResult

        init(
            _ status: Int,
            _ code: String,
            _ action: Judgement.Action,
            _ kind: DeliveryFailure.Kind,
            _ result: ProducerResult
        ) {
            self.status = status
            self.code = code
            self.action = action
            self.kind = kind
            self.result = result
        }

        var testDescription: String { "\(status) \(code)" }
    }

    /// What is known of SLS's answers to a write, row by row.
    static let rows: [Row] =
        [
            Row(400, "RequestTimeExpired", .resign, .clock, .sendTimeError),
            Row(400, "RequestTimeTooSkewed", .resign, .clock, .sendTimeError),
            Row(400, "PostBodyInvalid", .split, .content, .sendDiscardError),
            Row(400, "InvalidTimestamp", .split, .content, .sendDiscardError),
            Row(400, "InvalidEncoding", .split, .content, .sendDiscardError),
            Row(400, "InvalidKey", .split, .content, .sendDiscardError),
            Row(413, "PostBodyTooLarge", .split, .content, .sendDiscardError),
            Row(400, "PostBodyTooLarge", .split, .content, .sendDiscardError),
            Row(415, "InvalidContentType", .suspect, .request, .sendDiscardError),
            Row(411, "MissingContentLength", .suspect, .request, .sendDiscardError),
            Row(405, "InvalidMethod", .suspect, .request, .parametersInvalid),
            Row(400, "InvalidHost", .pause(.project), .notFound, .sendDiscardError),
            Row(401, "SignatureNotMatch", .pause(.project), .unauthorized, .sendUnauthorized),
            Row(401, "InvalidAccessKeyId", .pause(.project), .unauthorized, .sendUnauthorized),
            Row(401, "SecurityTokenExpired", .pause(.project), .unauthorized, .sendUnauthorized),
            Row(401, "SecurityToken.Expired", .pause(.project), .unauthorized, .sendUnauthorized),
            Row(401, "Unauthorized", .pause(.logstore), .unauthorized, .sendUnauthorized),
            Row(403, "WriteQuotaExceed", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "ShardWriteQuotaExceed", .slowDown(.logstore), .quota, .sendQuotaError),
            Row(403, "ProjectQuotaExceed", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "ExceedQuota", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "QuotaExceed", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "ReadQuotaExceed", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "MetaOperationQpsLimitExceeded", .slowDown(.quota), .quota, .sendQuotaError),
            Row(403, "ProjectForbidden", .pause(.project), .suspended, .sendQuotaError),
            Row(404, "ProjectNotExist", .pause(.project), .notFound, .sendUnauthorized),
            Row(404, "ProjectNotExists", .pause(.project), .notFound, .sendUnauthorized),
            Row(404, "LogStoreNotExist", .pause(.logstore), .notFound, .sendUnauthorized),
            Row(404, "LogstoreNotExists", .pause(.logstore), .notFound, .sendUnauthorized),
            Row(500, "InternalServerError", .again(.endpoint), .server, .sendServerError),
            Row(500, "RequestTimeout", .again(.endpoint), .server, .sendServerError),
            Row(503, "ServerBusy", .again(.endpoint), .server, .sendServerError),
        ]
        + [
            "ParameterInvalid", "PostBodyUncompressError", "InvalidRequestTime",
            "InvalidDateFormat", "MissingDate", "MissingParameter", "MissingContentType",
            "MissingBodyRawSize", "InvalidBodyRawSize", "InvalidCompressType", "MissingHost",
            "MissingAPIVersion", "InvalidAPIVersion", "MissAccessKeyId", "MissingSignatureMethod",
            "InvalidSignatureMethod",
        ].map { Row(400, $0, .suspect, .request, .sendDiscardError) }

    @Test("Each answer has its action, its kind and its SDK result", arguments: rows)
    func row(row: Row) {
        let judgement = Judge.judge(Self.answer(row.status, row.code))
        #expect(judgement.action == row.action)
        #expect(judgement.kind == row.kind)
        #expect(judgement.result == row.result)
        #expect(judgement.status == row.status)
        #expect(judgement.code == row.code)
        #expect(judgement.message == "m")
        #expect(judgement.requestID == Self.id.value)
        #expect(judgement.remedy == ErrorCode.known(row.code)?.remedy)
    }

    @Test("A code decides, whatever the status", arguments: rows)
    func statusOfCode(row: Row) {
        #expect(Judge.judge(Self.answer(499, row.code)).action == row.action)
    }

    @Test("Every code stands in the table once, with a meaning and a remedy, and in a row here")
    func everyCode() {
        let names = ErrorCode.table.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(ErrorCode.table.allSatisfy { !$0.meaning.isEmpty && !$0.remedy.isEmpty })
        #expect(Set(Self.rows.map(\.code)).union(["InvalidSequenceId"]) == Set(names))
    }

    @Test("Only a 200 with a request id is stored")
    func stored() {
        let stored = Judge.judge(Self.answer(200))
        #expect(stored.action == .acknowledge)
        #expect(stored.result == .ok)
        #expect(Judge.judge(Self.answer(202)).action == .again(.endpoint))
    }

    @Test(
        "Without a request id it is not SLS, whatever it says",
        arguments: [200, 302, 400, 401, 403, 404, 413, 429, 500, 503]
    )
    func foreign(status: Int) {
        let body = Array(#"{"errorCode":"Unauthorized","errorMessage":"m"}"#.utf8)
        let judgement = Judge.judge(SLSAnswer(status: status, headers: [], body: body))
        #expect(judgement.action == .again(.endpoint))
        #expect(judgement.kind == .notSLS)
        #expect(judgement.result == .sendServerError)
        #expect(judgement.isOutcomeUnknown)
        #expect(judgement.message.contains("x-log-requestid"))
    }

    @Test(
        "A status decides where there is no code that is known",
        arguments: [
            Row(302, "", .pause(.project), .request, .sendDiscardError),
            Row(400, "", .suspect, .request, .sendDiscardError),
            Row(401, "", .pause(.project), .unauthorized, .sendUnauthorized),
            Row(403, "", .pause(.logstore), .other, .sendQuotaError),
            Row(404, "", .pause(.logstore), .notFound, .sendUnauthorized),
            Row(405, "", .suspect, .request, .parametersInvalid),
            Row(409, "", .suspect, .request, .sendDiscardError),
            Row(411, "", .suspect, .request, .sendDiscardError),
            Row(413, "", .split, .content, .sendDiscardError),
            Row(415, "", .suspect, .request, .sendDiscardError),
            Row(429, "", .slowDown(.logstore), .quota, .sendDiscardError),
            Row(500, "", .again(.endpoint), .server, .sendServerError),
            Row(502, "", .again(.endpoint), .server, .sendServerError),
            Row(504, "", .again(.endpoint), .server, .sendServerError),
            Row(599, "", .again(.endpoint), .server, .sendServerError),
            Row(204, "", .again(.endpoint), .other, .sendDiscardError),
            Row(600, "", .again(.endpoint), .other, .sendDiscardError),
        ]
    )
    func unknownCode(row: Row) {
        for code in [nil, "NeverHeardOf"] {
            let judgement = Judge.judge(Self.answer(row.status, code))
            #expect(judgement.action == row.action)
            #expect(judgement.kind == row.kind)
            #expect(judgement.result == row.result)
            #expect(!judgement.remedy.isEmpty)
        }
    }

    @Test(
        "A 403 of an unknown code is about a quota when it says so",
        arguments: [
            ("NeverHeardOf", "Project write quota exceed: qps", true),
            ("SomeQuotaIsGone", "m", true), ("LimitExceeded", "m", true),
            ("NeverHeardOf", "Exceed the limit", true), ("NeverHeardOf", "denied by acl", false),
        ]
    )
    func unknownQuota(code: String, message: String, isQuota: Bool) {
        let judgement = Judge.judge(Self.answer(403, code, message))
        #expect(judgement.action == (isQuota ? .slowDown(.quota) : .pause(.logstore)))
        #expect(judgement.kind == (isQuota ? .quota : .other))
        #expect(judgement.result == .sendQuotaError)
    }

    @Test("A clock that is still wrong after a new signature stops everything that way")
    func clock() {
        let judgement = Judge.judge(Self.answer(400, "RequestTimeExpired"))
        #expect(judgement.action == .resign)
        #expect(judgement.withoutResigning.action == .pause(.endpoint))
        #expect(judgement.withoutResigning.kind == .clock)
    }

    @Test("A sequence number that is used says delivered if an earlier attempt may have used it")
    func sequence() {
        let answer = Self.answer(400, "InvalidSequenceId")
        let stored = Judge.judge(answer, Attempt(mayBeStored: true, hasLane: true))
        #expect(stored.action == .acknowledge)
        #expect(stored.result == .ok)
        let used = Judge.judge(answer, Attempt(hasLane: true))
        #expect(used.action == .relane)
        #expect(used.kind == .sequence)
        #expect(used.result == .sendDiscardError)
        // Nobody sent one.
        #expect(Judge.judge(answer, Attempt(mayBeStored: true)).action == .suspect)
    }

    @Test(
        "Only SLS's words tell whether a key or a permission is refused",
        arguments: [
            (
                "denied by sts or ram, action: log:PostLogStoreLogs, resource: acs:log:x/token",
                false
            ),
            ("The security token you provided has expired", true),
            ("AccessKeyId not found: LTAIxxxx", true),
            ("AccessKeyId is inactive: LTAIxxxx", true),
            ("The project does not belong to you.", true),
            ("you are not allowed", false),
        ]
    )
    func unauthorized(message: String, isCredential: Bool) {
        let judgement = Judge.judge(Self.answer(401, "Unauthorized", message))
        #expect(judgement.action == .pause(isCredential ? .project : .logstore))
    }

    @Test(
        "What a quota counts is in SLS's words, if anywhere",
        arguments: [
            ("Project write quota exceed: inflow", Quota.bytes), ("Write QPS Exceed", .requests),
            ("Inflow Quota Exceed", .bytes), ("Project write quota exceed: qps", .requests),
            ("shard write quota exceed", .unknown),
        ]
    )
    func quota(message: String, quota: Quota) {
        #expect(Judge.judge(Self.answer(403, "WriteQuotaExceed", message)).quota == quota)
    }

    @Test("The words count as an operator sees them: without secrets, and cut")
    func shownWords() {
        func quota(_ message: String) -> Quota {
            Judge.judge(Self.answer(403, "WriteQuotaExceed", message), by: Self.wordy).quota
        }
        func deniesRights(_ message: String) -> Bool {
            Judge.judge(Self.answer(401, "Unauthorized", message), by: Self.wordy)
                .traits.contains(.deniesRights)
        }
        // As many bytes as are kept of a message.
        let filling = String(repeating: "-", count: 512)
        #expect(quota("exceed: qps") == .requests)
        #expect(quota("exceed: \(filling) qps") == .unknown)
        #expect(quota("exceed, inflow-token") == .unknown)
        #expect(!deniesRights("token expired"))
        #expect(deniesRights("token \(filling) expired"))
        #expect(deniesRights("inflow-token expired"))
    }

    /// A credential with words in its token that the judge looks for.
    static let wordy = Credential(
        accessKeyID: "testkeyid",
        secret: Secret("secret-of-the-test"),
        securityToken: Secret("inflow-token")
    )

    @Test("How long SLS wants to be left alone is told to the gate of the scope only")
    func retryAfter() {
        let answer = SLSAnswer(
            status: 503,
            headers: [Self.id, (name: "Retry-After", value: "7")],
            body: Array(#"{"errorCode":"ServerBusy","errorMessage":"m"}"#.utf8)
        )
        let judgement = Judge.judge(answer)
        #expect(judgement.retryAfter(for: .endpoint) == .seconds(7))
        #expect(judgement.retryAfter(for: .project) == nil)
        #expect(judgement.retryAfter(for: .logstore) == nil)
    }

    @Test(
        "A refusal without words is told by what its code means, else by its status",
        arguments: [#"{"errorCode":"CODE"}"#, #"{"errorCode":"CODE","errorMessage":""}"#]
    )
    func wordless(body: String) throws {
        func message(_ code: String) -> String {
            let body = Array(body.replacing("CODE", with: code).utf8)
            return Judge.judge(SLSAnswer(status: 403, headers: [Self.id], body: body)).message
        }
        let known = try #require(ErrorCode.known("WriteQuotaExceed"))
        #expect(message("WriteQuotaExceed") == known.meaning)
        #expect(message("SomethingNew") == "HTTP status 403")
    }

    @Test("After an answer of SLS below 500 it is certain that nothing was stored")
    func outcome() {
        #expect(Judge.judge(Self.answer(500, "InternalServerError")).isOutcomeUnknown)
        #expect(Judge.judge(Self.answer(503, "ServerBusy")).isOutcomeUnknown)
        #expect(!Judge.judge(Self.answer(403, "WriteQuotaExceed")).isOutcomeUnknown)
        #expect(!Judge.judge(Self.answer(400, "PostBodyInvalid")).isOutcomeUnknown)
    }
}

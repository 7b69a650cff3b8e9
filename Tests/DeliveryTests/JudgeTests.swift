import CCurl
import SLS
import Testing

@testable import Delivery

@Suite struct JudgeTests {
    static let id = (name: "x-log-requestid", value: "5642FC2399248C8F7B0145FD")

    func answer(_ status: Int, _ code: String? = nil, _ message: String = "m") -> SLSAnswer {
        let body = code.map { #"{"errorCode":"\#($0)","errorMessage":"\#(message)"}"# } ?? "<html>"
        return SLSAnswer(status: status, headers: [Self.id], body: Array(body.utf8))
    }

    func reason(_ verdict: Judge.Verdict) -> Judge.Reason? {
        guard case .retry(let reason) = verdict else { return nil }
        return reason
    }

    @Test("Only a 200 with a request id is stored")
    func stored() {
        #expect(Judge.verdict(on: answer(200)) == .stored)
        let foreign = SLSAnswer(status: 200, headers: [], body: [])
        #expect(reason(Judge.verdict(on: foreign))?.kind == .notSLS)
        #expect(reason(Judge.verdict(on: answer(202)))?.kind == .other)
    }

    @Test(
        "A code decides before its status",
        arguments: [
            (401, "Unauthorized", DeliveryFailure.Kind.unauthorized),
            (401, "SignatureNotMatch", .unauthorized),
            (403, "WriteQuotaExceed", .quota),
            (403, "ProjectForbidden", .suspended),
            (404, "ProjectNotExist", .notFound),
            (404, "LogStoreNotExist", .notFound),
            (400, "InvalidHost", .notFound),
            (400, "RequestTimeExpired", .clock),
            (400, "PostBodyInvalid", .content),
            (413, "PostBodyTooLarge", .content),
            (400, "ParameterInvalid", .request),
            (500, "InternalServerError", .server),
            (503, "ServerBusy", .server),
            (400, "InvalidSequenceId", .sequence),
        ]
    )
    func codes(status: Int, code: String, kind: DeliveryFailure.Kind) {
        let reason = reason(Judge.verdict(on: answer(status, code)))
        #expect(reason?.kind == kind)
        #expect(reason?.code == code)
        #expect(reason?.message == "m")
        #expect(reason?.requestID == Self.id.value)
        #expect(reason?.remedy == ErrorCode.known(code)?.remedy)
    }

    @Test(
        "A status decides where there is no code that is known",
        arguments: [
            (401, DeliveryFailure.Kind.unauthorized), (403, .quota), (429, .quota),
            (404, .notFound), (405, .request), (411, .request), (413, .content), (500, .server),
            (599, .server), (400, .request), (302, .request),
        ]
    )
    func statuses(status: Int, kind: DeliveryFailure.Kind) {
        #expect(reason(Judge.verdict(on: answer(status)))?.kind == kind)
        #expect(reason(Judge.verdict(on: answer(status, "NeverHeardOf")))?.kind == kind)
    }

    @Test(
        "A problem of the transport tells what to check",
        arguments: [
            (CURLE_COULDNT_RESOLVE_HOST, "CURLE_6", "name service"),
            (CURLE_COULDNT_CONNECT, "CURLE_7", "firewall"),
            (CURLE_OPERATION_TIMEDOUT, "CURLE_28", "send_timeout"),
            (CURLE_PEER_FAILED_VERIFICATION, "CURLE_60", "intercepts TLS"),
            (CURLE_SSL_CACERT_BADFILE, "CURLE_77", "certificate authorities"),
            (CURLE_COULDNT_RESOLVE_PROXY, "CURLE_5", "name in proxy"),
            (CURLE_PROXY, "CURLE_97", "check proxy"),
        ]
    )
    func transport(result: CURLcode, code: String, remedy: String) {
        let reason = reason(Judge.verdict(on: TransportProblem(result, detail: "what curl wrote")))
        #expect(reason?.kind == .network)
        #expect(reason?.code == code)
        #expect(reason?.message.hasSuffix(": what curl wrote") == true)
        #expect(reason?.remedy.contains(remedy) == true)
    }
}

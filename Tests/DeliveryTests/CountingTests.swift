import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// What metrics say of answers, retries, pauses and waits.
@Suite(.timeLimit(.minutes(1))) struct CountingTests {
    @Test("Answers are counted by codes that are known, whatever a server makes up")
    func answers() {
        func counted(_ status: Int, _ code: String?, id: String? = "5642FC2399248C8F7B0145FD")
            -> String
        {
            let body = code.map { #"{"errorCode":"\#($0)","errorMessage":"m"}"# } ?? ""
            let headers = id.map { [("x-log-requestid", $0)] } ?? []
            return SLSAnswer(status: status, headers: headers, body: Array(body.utf8)).countedAs
        }
        #expect(counted(200, nil) == "OK")
        #expect(counted(403, "WriteQuotaExceed") == "WriteQuotaExceed")
        #expect(counted(400, "SequenceOfMyOwn") == "other")
        #expect(counted(500, nil) == "other")
        #expect(counted(200, nil, id: nil) == "not_sls")
        #expect(counted(403, "WriteQuotaExceed", id: nil) == "not_sls")
    }

    @Test("Answers, retries and waits are counted with the packets they belong to")
    func counts() throws {
        let source = try MemorySource()
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: .answer(500, code: "InternalServerError", message: "later")
            case 1: .answer(500, code: "Unheard", message: "later")
            default: .stored
            }
        }
        let rig = try Rig(source, server)
        source.offer(1)
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.status.answers == ["InternalServerError": 1, "other": 1, "OK": 1])
        #expect(rig.status.retries == 2)
        #expect(rig.status.waits.count == 1)
    }

    @Test("A pause is counted by its cause, and a hold is a pause, too")
    func pauses() throws {
        let source = try MemorySource()
        let refusal = ScriptedServer.Reply.answer(401, code: "SignatureNotMatch", message: "no")
        let rig = try Rig(source, ScriptedServer { _, _ in refusal }) {
            $0.retryWaits = Backoff(first: .seconds(600), longest: .seconds(600))
        }
        source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("destination is paused") } })
        rig.forwarder.hold(["app"])
        rig.stop()
        #expect(rig.status.pauses[.failure(.unauthorized)] == 1)
        #expect(Set(PauseReason.all.map(\.name)).count == PauseReason.all.count)
    }

    @Test("A destination without a credential is counted as paused for it")
    func withoutCredential() throws {
        let source = try MemorySource()
        let rig = try Rig(source, ScriptedServer(), credential: nil)
        source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("waits for its credential") } })
        rig.stop()
        #expect(rig.status.pauses == [.credential: 1])
    }
}

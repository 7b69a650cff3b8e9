import Configuration
import Crypto
import Queue
import SLS
import SQLiteQueue
import System
import TestSupport
import Testing

@testable import Delivery

/// What metrics say of answers, retries, pauses and waits.
@Suite(.timeLimit(.minutes(10))) struct CountingTests {
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
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: .answer(500, code: "InternalServerError", message: "later")
            case 1: .answer(500, code: "Unheard", message: "later")
            default: .stored
            }
        }
        let rig = try Rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.status.answers == ["InternalServerError": 1, "other": 1, "OK": 1])
        #expect(rig.status.retries == 2)
        #expect(rig.status.waits.count == 1)
    }

    @Test("A pause is counted by its cause, and a hold is a pause, too")
    func pauses() throws {
        let refusal = ScriptedServer.Reply.answer(401, code: "SignatureNotMatch", message: "no")
        let rig = try Rig(ScriptedServer { _, _ in refusal }) {
            $0.transfer.retry = Backoff(first: .seconds(600), longest: .seconds(600))
        }
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("destination is paused") } })
        rig.forwarder.hold(["app"])
        rig.stop()
        #expect(rig.status.pauses[.failure(.unauthorized)] == 1)
        #expect(Set(PauseReason.all.map(\.name)).count == PauseReason.all.count)
    }

    @Test("A destination without a credential is counted as paused for it")
    func withoutCredential() throws {
        let rig = try Rig(ScriptedServer(), credential: nil)
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("waits for its credential") } })
        rig.stop()
        #expect(rig.status.pauses == [.credential: 1])
    }
}

@Suite(.timeLimit(.minutes(10))) struct ManyLogstoresTests {
    @Test(
        "A hundred logstores of one destination are delivered, and one that is missing waits alone"
    )
    func hundred() throws {
        let sandbox = try TestSandbox()
        try sandbox.fail(#"{"logstore":"store-42","code":"LogStoreNotExist"}"#)
        let rules = DestinationRules(packet: PacketLimits(logs: 100, age: .milliseconds(5)))
        let bench = try StoredBench(sandbox, rules) {
            $0.transfer.retry = Backoff(first: .milliseconds(5), longest: .milliseconds(20))
        }
        try bench.append(0..<400) { "store-\($0 % 100)" }
        let logs = 400 * Samples.logsPerRow
        let ofOne = 4 * Samples.logsPerRow
        let areOthersDelivered = bench.waitUntilDelivered(logs - ofOne)
        #expect(areOthersDelivered)
        let outlets = bench.forwarder.status[0].outlets
        #expect(outlets.count == 100)
        for outlet in outlets where outlet.logstore != "store-42" {
            #expect(outlet.sentLogs == ofOne, "\(outlet.logstore)")
        }
        let missing = outlets.first { $0.logstore == "store-42" }
        #expect(missing?.sentLogs == 0)
        #expect(missing?.lastFailure?.code == "LogStoreNotExist")
        #expect(bench.store.status.ledger.queued == Int64(ofOne))
        try sandbox.wellAgain()
        let areAllDelivered = bench.waitUntilDelivered(logs)
        #expect(areAllDelivered)
        let values = try sandbox.values()
        #expect(values.count == logs && Set(values).count == logs)
        bench.stop()
    }
}

/// A server that echoes what it was sent, at the worst place.
@Suite(.timeLimit(.minutes(10))) struct RedactionTests {
    static let token = String(repeating: "sensitive", count: 100)
    static let credential = Credential(
        accessKeyID: "testkeyid",
        secret: Secret("secret-of-the-test"),
        securityToken: Secret(token)
    )
    /// The token begins where a message is cut.
    static let message = String(repeating: "-", count: 450) + token

    static func echo() throws -> ScriptedServer {
        try ScriptedServer { _, _ in .answer(400, code: "PostBodyInvalid", message: message) }
    }

    @Test("A long token that SLS's message ends in is seen nowhere, not even its beginning")
    func echoed() throws {
        let rig = try Rig(Self.echo(), credential: Self.credential)
        rig.source.offer(1, logs: [Samples.log("a")])
        #expect(rig.source.state.wait { $0.dead.count == 1 })
        rig.stop()
        let seen = [
            "\(rig.recorder.lines.now)", "\(rig.source.state.now.dead)", "\(rig.status)",
        ]
        for text in seen {
            #expect(!text.contains("sensitive"))
            #expect(text.contains("-•••"))
        }
    }

    @Test("Nor in the proof of a credential")
    func proof() throws {
        let server = try ScriptedServer { _, _ in
            .answer(401, code: "SignatureNotMatch", message: Self.message)
        }
        defer { server.stop() }
        let place = DestinationTester.Place(
            try Samples.destination(port: server.port),
            logstore: "app-log"
        )
        let proof = try #require(
            try DestinationTester().prove(Self.credential, at: [place]).first
        )
        #expect(proof.message.hasSuffix("-•••"))
    }

    @Test("Nor does an answer show it encoded, or as its request id", arguments: [400, 200])
    func encoded(status: Int) {
        let token = "CAIS+abc/DEF123456=="
        let credential = Credential(
            accessKeyID: "testkeyid",
            secret: Secret("secret-of-the-test"),
            securityToken: Secret(token)
        )
        let answer = SLSAnswer(
            status: status,
            headers: [("x-log-requestid", "CAIS+abc/DEF123456==")],
            body: Array(
                """
                {"errorCode":"\(percentEncoded(token))",\
                "errorMessage":"bad token \(percentEncoded(token))"}
                """.utf8
            )
        )
        let judgement = Judge.judge(answer, by: credential)
        #expect(judgement.requestID == "•••")
        #expect(!"\(judgement)".contains("DEF123456"))
    }
}

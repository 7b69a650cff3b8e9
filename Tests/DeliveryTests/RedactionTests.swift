import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// A server that echoes what it was sent, at the worst place.
@Suite(.timeLimit(.minutes(1))) struct RedactionTests {
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
        let source = try MemorySource()
        let rig = try Rig(source, Self.echo(), credential: Self.credential)
        source.offer(1, logs: [Samples.log("a")])
        #expect(source.state.wait { $0.dead.count == 1 })
        rig.stop()
        let seen = [
            "\(rig.recorder.lines.now)", "\(source.state.now.dead)", "\(rig.status)",
        ]
        for text in seen {
            #expect(!text.contains("sensitive"))
            #expect(text.contains("-•••"))
        }
    }

    @Test("Nor in the proof of a credential")
    func proof() throws {
        let server = try Self.echo()
        defer { server.stop() }
        let place = CredentialProver.Place(
            try Samples.destination(port: server.port),
            logstore: "app-log"
        )
        let proof = try #require(
            try CredentialProver().prove(Self.credential, at: [place]).first
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

import Testing

@testable import CLI

@Suite struct AdminAnswerTests {
    private func problem(_ text: String) -> String? {
        AdminAnswer(status: 400, body: Array(text.utf8)).problem
    }

    @Test("A refusal is read for a person, with its code behind it")
    func read() {
        let text =
            #"{"error":{"code":"CredentialRefused","message":"SLS says \"no\"","position":3}}"#
        #expect(problem(text) == #"SLS says "no" (CredentialRefused)"#)
        #expect(problem(#"{"error":{"message":"no"}}"#) == "no")
        #expect(problem(#"{"ready":false,"reasons":["a","b"]}"#) == "a\nb")
    }

    @Test(
        "What is no refusal of ours is left as it is",
        arguments: [
            "", "ok\n", "{}", #"{"error":"x"}"#, #"{"error":{"code":"X"}}"#, #"{"error":{"#,
            #"{"reasons":[]}"#, #"{"reasons":"x"}"#,
        ]
    )
    func others(text: String) {
        #expect(problem(text) == nil)
    }
}

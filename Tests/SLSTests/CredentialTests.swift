import Testing

@testable import SLS

@Suite struct CredentialTests {
    @Test("A secret shows nowhere")
    func hidden() {
        let credential = Vectors.temporary
        var dumped = ""
        dump(credential, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped] {
            #expect(!text.contains("testststkeysecret"))
            #expect(!text.contains("test/sts+token=="))
        }
    }

    @Test("What a server echoes is shown without secret and token")
    func redacted() {
        let text = Vectors.temporary.redacted("got test/sts+token== and testststkeysecret.")
        #expect(text == "got ••• and •••.")
    }

    @Test(
        "A credential that would break a header is a problem, told without its content",
        arguments: ["", "a\n", "a b", "a\r\nx-log-evil: 1", "ключ"]
    )
    func problem(text: String) {
        let broken = [
            Credential(accessKeyID: text, secret: Secret("s")),
            Credential(accessKeyID: "id", secret: Secret(text)),
            Credential(accessKeyID: "id", secret: Secret("s"), securityToken: Secret(text)),
        ]
        for credential in broken {
            let problem = credential.problem
            #expect(problem != nil)
            #expect(text.isEmpty || problem?.contains(text) == false)
        }
        #expect(Vectors.temporary.problem == nil)
    }
}

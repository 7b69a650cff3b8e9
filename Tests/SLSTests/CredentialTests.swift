import Crypto
import Glibc
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

    @Test("Secrets are equal by their bytes, and lend them")
    func bytes() {
        #expect(Secret("abc") == Secret("abc"))
        #expect(Secret("abc") != Secret("abd"))
        #expect(Secret("abc") != Secret("abcd"))
        #expect(Secret("") == Secret(""))
        #expect(Secret("ключ").revealed == "ключ")
        let long = String(repeating: "k", count: 20_000)
        #expect(Secret(long).revealed == long)
        #expect(Secret(long).byteCount == 20_000)
        #expect(Secret("b").withKey(before: "a", after: "c") { Array($0) } == Array("abc".utf8))
    }

    @Test("A secret gives its pages back")
    func pages() throws {
        let before = mappings()
        var secrets = (0..<8).map { Secret(String(repeating: "x", count: 5000 + $0)) }
        #expect(secrets.count == 8)
        secrets = []
        // Other tests map memory, but not as much as eight secrets do again and again.
        for _ in 0..<2000 { _ = Secret("short") }
        #expect(mappings() < before + 1000)
    }

    private func mappings() -> Int {
        guard let file = fopen("/proc/self/maps", "r") else { return 0 }
        defer { fclose(file) }
        var count = 0
        while case let byte = fgetc(file), byte != EOF { if byte == 10 { count += 1 } }
        return count
    }

    @Test("What a server echoes is shown without secret and token")
    func redacted() {
        let text = Vectors.temporary.redacted("got test/sts+token== and testststkeysecret.")
        #expect(text == "got ••• and •••.")
    }

    @Test("It is cut after that, so that no half of a long token is left")
    func redactedAndCut() {
        let token = String(repeating: "sensitive", count: 100)
        let credential = Credential(
            accessKeyID: "id",
            secret: Secret("s-e-c-r-e-t"),
            securityToken: Secret(token)
        )
        for start in [0, 400, 500, 505, 511, 600] {
            let text = String(repeating: "é", count: start / 2) + token + "end"
            let redacted = credential.redacted(text)
            #expect(redacted.utf8.count <= Credential.redactedBytesMax)
            #expect(redacted.utf8.count >= min(start, Credential.redactedBytesMax - 3))
            #expect(!redacted.contains("sens"))
        }
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

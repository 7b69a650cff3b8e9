import SLS
import System
import Testing

@testable import Credentials

@Suite struct SecrecyTests {
    private func shown(_ value: some Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        return text
    }

    @Test("No value of this room shows a secret, however it is printed")
    func printed() throws {
        let supplied = Samples.supplied(Samples.temporary, lasting: .seconds(3600))
        var table = CredentialTable()
        let uri = CredentialSource.uri(URISource(uri: Secret("http://canary/")))
        table.replace(["a": .fixed(Samples.temporary), "b": uri])
        _ = table.take(supplied, "a", Samples.now)
        try table.push("a", PushedCredential(supplied, activation: nil), Samples.now)
        let document = CredentialDocument(json: Array(Samples.stsAnswer().utf8))
        let key = try SealingKey(Secret(String(repeating: "canary ", count: 8)))
        let values: [Any] = [
            supplied, PushedCredential(supplied), table, table.status(Samples.now),
            document as Any, key, SecretBox(key: key), CredentialSource.fixed(Samples.key), uri,
            Profile(place: "p", settings: ["access_key_secret": Secret("canary")]),
        ]
        for value in values { #expect(!shown(value).contains("canary"), "\(type(of: value))") }
    }

    @Test("A fingerprint tells credentials apart, an access key id is shown in part")
    func fingerprint() {
        // printf %s LTAI5tCallerKeyIdcanary-secret-of-the-caller | sha256sum
        let text = "LTAI5tCallerKeyId\(Samples.secret)"
        let supplied = Samples.supplied(Samples.key)
        #expect(supplied.fingerprint == String(Digest.sha256Hex(text).prefix(8)))
        #expect(supplied.fingerprint != Samples.supplied(Samples.temporary).fingerprint)
        #expect(supplied.shownID == "LTAI…eyId")
        let short = Credential(accessKeyID: "short", secret: Secret("s"))
        #expect(Samples.supplied(short).shownID == "sh…")
    }

    @Test(
        "Times are read as ISO 8601 writes them",
        arguments: [
            ("2025-01-14T08:30:00Z", 1_736_843_400), ("2025-01-14T08:30:00.999Z", 1_736_843_400),
            ("2025-01-14T16:30:00+08:00", 1_736_843_400), ("1970-01-01T00:00:00Z", 0),
        ]
    )
    func times(text: String, seconds: Int64) {
        #expect(WallTime(iso8601: text)?.seconds == seconds)
    }

    @Test(
        "What is no time is none",
        arguments: [
            "", "2025-01-14", "2025-13-14T08:30:00Z", "2025-01-14T08:30:00",
            "2025-01-14T08:30:00Zx",
            "2025-01-14T25:30:00Z", "2025-01-14T08:30:00.Z", "20250114T083000Z",
        ]
    )
    func noTimes(text: String) {
        #expect(WallTime(iso8601: text) == nil)
    }

    @Test("What a server says is kept on one line of bounded length")
    func words() {
        let words = ServerWords(
            status: 400,
            code: "C",
            message: "a\nb\u{1b}[31m" + String(repeating: "é", count: 5000)
        )
        #expect(words.description.hasPrefix("400 C: a b [31mé"))
        #expect(words.description.utf8.count < 600)
    }
}

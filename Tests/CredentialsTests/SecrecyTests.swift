import Crypto
import HTTPClient
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct SecrecyTests {
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
        let key = try SealingKey(Secret("canary, a passphrase of many words, canary"))
        let variables = ["ALIBABA_CLOUD_ACCESS_KEY_SECRET": "canary"]
        let form = [(name: "OIDCToken", value: "canary")]
        let values: [Any] = [
            Samples.surroundings(variables), STSCall(action: "a", subject: "s", form: form),
            WebRequest(url: "http://x/?canary", headers: ["a: canary"], form: form, limits: .sts),
            supplied, PushedCredential(supplied), table, table.status(Samples.now),
            document as Any, key, SecretBox(key: key), CredentialSource.fixed(Samples.key), uri,
            Profile(place: "p", settings: ["access_key_secret": Secret("canary")]),
        ]
        for value in values { #expect(!shown(value).contains("canary"), "\(type(of: value))") }
    }

    /// Whoever is asked repeats all that it was told, and gives something or nothing.
    @Test(
        "Roles of machines and pods, and a chain wherever it ends, show no secret",
        arguments: [true, false],
        ["ecs", "oidc", "chain", "chain oidc", "chain cli", "chain ini", "chain ecs", "chain uri"]
    )
    func roles(isGiven: Bool, kind: String) throws {
        let home = TemporaryDirectory()
        let server = try StandIn { request, _ in
            if request.path == "/latest/api/token" { return .json(200, "canary-metadata-token") }
            guard isGiven else {
                let told = "\(request.target) \(request.fields) \(request.body)"
                return .json(403, Samples.refusal("NoPermission", told))
            }
            if request.method == "POST" { return .json(200, Samples.stsAnswer()) }
            return .json(200, Samples.metadataAnswer())
        }
        defer { server.stop() }
        var role = OIDCRole()
        (role.roleARN, role.providerARN) = (Samples.roleARN, "acs:ram::1:oidc-provider/x")
        role.tokenFile = "\(home.path)/token"
        home.replace("token", "canary.header.signature")
        home.replace(
            "cli",
            #"{"profiles":[{"name":"default","access_key_id":"cli","access_key_secret":"canary"}]}"#
        )
        home.replace("ini", "[default]\naccess_key_id = ini\naccess_key_secret = canary")
        var environment = ["HOME": home.path]
        let variables: [String: [String: String]] = [
            "chain": [
                "ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "canary",
            ],
            "chain oidc": [
                "ALIBABA_CLOUD_ROLE_ARN": Samples.roleARN, "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "p",
                "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "\(home.path)/token",
            ],
            "chain cli": ["ALIBABA_CLOUD_CONFIG_FILE": "\(home.path)/cli"],
            "chain ini": ["ALIBABA_CLOUD_CREDENTIALS_FILE": "\(home.path)/ini"],
            "chain ecs": ["ALIBABA_CLOUD_ECS_METADATA": "role"],
            "chain uri": [
                "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
                "ALIBABA_CLOUD_CREDENTIALS_URI": "\(server.url)/?key=canary",
            ],
        ]
        environment.merge(variables[kind] ?? [:]) { $1 }
        let source: CredentialSource =
            switch kind {
            case "ecs": .ecsRole(ECSRole())
            case "oidc": .oidcRole(role)
            default: .chain
            }
        let surroundings = Samples.surroundings(
            environment,
            sts: server.url,
            metadata: server.url
        )
        if let problem = Samples.problem(source, surroundings) {
            #expect(!shown(problem).contains("canary"), "\(problem)")
        } else {
            let supplied = try Samples.fetch(source, surroundings)
            #expect(!shown(supplied).contains("canary"))
        }
        #expect(isGiven || kind != "ecs" || server.requests.now.count > 1)
        #expect(!server.requests.now.contains { $0.target.contains("canary.header") })
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

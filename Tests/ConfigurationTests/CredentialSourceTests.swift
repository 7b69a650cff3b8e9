import Configuration
import Credentials
import Crypto
import Glibc
import HTTPClient
import SLS
import TestConfiguration
import TestSupport
import Testing

@Suite struct CredentialSourceTests {
    private func source(
        _ settings: String,
        _ environment: [String: String] = [:]
    ) throws -> CredentialSource? {
        let text = minimal + "credentials: {default: {\(settings)}}\n"
        return try read(text, environment).credentials["default"]
    }

    private let arn = "acs:ram::1234567890123456:role/log-writer"

    @Test("A role is read with all that STS is told")
    func assumeRole() throws {
        let text =
            "from: assume_role, role_arn: \(arn), session_name: gw-1, duration: 30m, external_id: x1, "
            + "sts_region: cn-hangzhou, sts_vpc: true, timeout: 4s"
        guard case .assumeRole(let role) = try source(text) else {
            Issue.record("it is no role")
            return
        }
        #expect(role.roleARN == arn && role.caller == .environment && role.seconds == 1800)
        #expect(role.sessionName == "gw-1" && role.externalID == "x1")
        #expect(role.access.region == "cn-hangzhou" && role.access.isVPC == true)
        #expect(role.access.limits.total == .seconds(4))
        let variable = ["ALIBABA_CLOUD_ROLE_ARN": arn]
        guard case .assumeRole(let other) = try source("from: assume_role", variable) else {
            Issue.record("it is no role")
            return
        }
        #expect(other.roleARN == arn && other.seconds == 3600)
    }

    @Test("Each other source is read as it is called")
    func others() throws {
        #expect(try source("from: admin") == .admin)
        #expect(try source("from: chain") == .chain)
        #expect(try source("from: oidc_role") == .oidcRole(OIDCRole()))
        #expect(try source("from: file, path: /run/key") == .file(FileSource(path: "/run/key")))
        guard case .ecsRole(let role) = try source("from: ecs_role, imds_v1: false") else {
            Issue.record("it is no role")
            return
        }
        #expect(role.isTokenRequired == true)
    }

    @Test("What nobody describes is the chain where the environment names no key but another way")
    func undescribed() throws {
        let oidc = ["ALIBABA_CLOUD_OIDC_TOKEN_FILE": "/var/run/token"]
        #expect(try read(minimal, oidc).credentials["default"] == .chain)
        let key = testKeys
        #expect(try read(minimal, key).credentials["default"] == .environment)
    }

    @Test(
        "What cannot be is told by its key",
        arguments: [
            ("from: assume_role", "role_arn: is missing"),
            ("from: assume_role, role_arn: me", "role_arn: is not like acs:ram"),
            (
                "from: assume_role, role_arn: \"ARN\", source: nobody",
                "nobody is no credential here"
            ),
            ("from: assume_role, role_arn: \"ARN\", source: default", "default is itself"),
            ("from: assume_role, role_arn: \"ARN\", duration: 5m", "duration: "),
            ("from: ecs_role, role_arn: x", "role_arn: unknown key"),
            ("from: admin, encryption_key: x", "encryption_key: unknown key"),
        ]
    )
    func wrong(settings: String, part: String) {
        let error = #expect(throws: ConfigurationProblems.self) {
            try source(settings.replacing("ARN", with: arn))
        }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test("An encryption key that is none is refused without showing it")
    func encryptionKey() throws {
        let told = problems(minimal + "credentials: {encryption_key: canary}\n", [:]).joined()
        #expect(told.contains("credentials.encryption_key: ") && !told.contains("canary"))
    }

    @Test("An encryption key that is empty is a mistake, not no key")
    func emptyEncryptionKey() throws {
        let told = problems(minimal + "credentials: {encryption_key: \"${KEY}\"}\n", ["KEY": ""])
        #expect(told.joined().contains("credentials.encryption_key: is empty"))
    }

    @Test("Roles that ask for each other in a circle are refused, and only those in it")
    func circle() throws {
        func role(_ source: String) -> String {
            "{from: assume_role, role_arn: \"\(arn)\", source: \(source)}"
        }
        let credentials =
            "credentials: {default: {from: admin}, a: \(role("b")), b: \(role("c")), "
            + "c: \(role("a")), d: \(role("a"))}\n"
        let text = problems(minimal + credentials, [:]).joined()
        #expect(text.contains("a: it stands on itself: a, by b, by c, by a"), "\(text)")
        #expect(!text.contains("credentials.d"), "\(text)")
    }

    @Test("A secret from a pipe that nobody writes to does not hold up the start")
    func pipe() throws {
        let directory = TemporaryDirectory()
        let pipe = "\(directory.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let told = problems(minimal + "credentials: {encryption_key: \"${file:\(pipe)}\"}\n", [:])
        #expect(told.joined().contains("not a regular file"))
    }
}

@Suite struct WebhookSettingsTests {
    private let environment = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s",
        "HOOK": "Bearer canary",
    ]

    private func webhook(_ settings: String) throws -> WebhookSettings {
        try read(minimal + "webhook: {\(settings)}\n", environment).webhook
    }

    @Test("A webhook is read with its secret, which is never shown")
    func whole() throws {
        let webhook = try webhook(
            #"url: "https://Hooks.example.com/a/canary?token=canary", authorization: "${HOOK}", "#
                + "timeout: 2s, interval: 10m"
        )
        #expect(webhook.address?.url.revealed.hasSuffix("/a/canary?token=canary") == true)
        #expect(webhook.address?.description == "https://hooks.example.com")
        #expect(webhook.authorization == Secret("Bearer canary"))
        #expect(webhook.timeout == .seconds(2) && webhook.interval == .seconds(600))
        #expect(!"\(webhook)".contains("canary"))
        var dumped = ""
        dump(webhook, to: &dumped)
        #expect(!dumped.contains("canary"))
        #expect(try read(minimal, environment).webhook == WebhookSettings())
    }

    @Test(
        "Plain http goes to this machine only, unless it is wanted",
        arguments: ["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9"]
    )
    func plain(url: String) throws {
        #expect(try webhook("url: \"\(url)\"").address?.url.revealed == url)
        let far = #"url: "http://alerts.monitoring:9093/hook""#
        let error = #expect(throws: ConfigurationProblems.self) { try webhook(far) }
        #expect(error?.description.contains("webhook.plain_http: true") == true)
        #expect(try webhook(far + ", plain_http: true").address?.place.port == 9093)
    }

    @Test(
        "What is no webhook is refused without being repeated",
        arguments: [
            (#"url: "hooks.example.com/canary""#, "webhook.url: has no scheme"),
            (#"url: "ftp://hooks.example.com/canary""#, "webhook.url: is not the URL"),
            (#"url: "https://me:canary@hooks.example.com/""#, "webhook.url: holds a name"),
            (#"url: "https://hooks.example.com/ canary""#, "webhook.url: holds spaces"),
            (#"url: "https:///canary""#, "webhook.url: is not the URL"),
            (#"url: "https://hooks.example.com:canary/""#, "webhook.url: is not the URL"),
            (
                #"url: "https://h.example.com", authorization: "canary\nX: y""#,
                "webhook.authorization: is not the value of a header"
            ),
            ("authorization: canary", "webhook.authorization: is of no use"),
            (#"url: "https://h.example.com", timeout: 10m"#, "webhook.timeout: "),
            (#"url: "https://h.example.com", interval: 1s"#, "webhook.interval: "),
            (#"url: "https://h.example.com", retries: 3"#, "webhook.retries: unknown key"),
        ]
    )
    func wrong(settings: String, part: String) {
        let error = #expect(throws: ConfigurationProblems.self) { try webhook(settings) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("canary") == false)
    }

    @Test("The check names where it goes, and no more")
    func check() throws {
        let summary = ConfigurationSummary.text(
            try read(
                minimal + #"webhook: { url: "https://hooks.example.com/canary?token=canary" }"#
                    + "\n",
                environment
            )
        )
        #expect(summary.contains("  webhook      https://hooks.example.com\n"))
        #expect(!summary.contains("canary"))
    }
}

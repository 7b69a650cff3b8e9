import Configuration
import Crypto
import SLS
import TestConfiguration
import Testing

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

import SLS
import Testing

@testable import Gateway

@Suite struct DeviceKeySettingsTests {
    private let variables = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s",
        "PHONE_KEY": "phone-0123456789abcdef",
    ]

    private func configuration(_ keys: String, listen: String = "127.0.0.1:8080") throws
        -> GatewayConfiguration
    {
        try read(
            """
            listen: \(listen)
            devices:
              keys: \(keys)
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: "*" }
            """,
            variables
        )
    }

    @Test("Keys are read, also from the environment")
    func good() throws {
        let read = try configuration(
            #"[{name: phone, key: "${PHONE_KEY}"}, {name: web, key: web-0123456789abcdef, destinations: [app], rate: 200/s, bytes: 120MiB/m}]"#
        )
        #expect(
            read.devices.keys == [
                DeviceKey(name: "phone", secret: Secret("phone-0123456789abcdef")),
                DeviceKey(
                    name: "web",
                    secret: Secret("web-0123456789abcdef"),
                    SenderRules(
                        destinations: ["app"],
                        rate: Allowance(200),
                        bytes: Allowance(120 << 20, per: .minute)
                    )
                ),
            ]
        )
        #expect(try configuration("[]").devices.keys.isEmpty)
        #expect(try configuration("").devices.keys.isEmpty)
    }

    @Test("All mistakes are told at once, and no key with them")
    func bad() throws {
        let error = #expect(throws: ConfigurationProblems.self) {
            try configuration(
                """

                    - { key: secret-0123456789 }
                    - { name: "a b", key: short }
                    - { name: web, key: secret-0123456789, destinations: [ap, app] }
                    - { name: web, rat: 5 }
                    - { name: long, key: \(String(repeating: "l", count: 257)) }
                    - 5
                    - { name: odd, key: odd-0123456789abc, rate: 200, bytes: 2MiB/d }
                    - { name: none, key: none-0123456789abc, rate: 0/s, bytes: -1/s }
                """
            )
        }
        let text = try #require(error).description
        for part in [
            "devices.keys[0].name: is missing",
            "devices.keys[1].name: a name has 1 to 64",
            "devices.keys[1].key: has 5 characters; give at least 16",
            "devices.keys[2].destinations: there is no destination \"ap\"; did you mean app?",
            "devices.keys[3].name: web is in the list already",
            "devices.keys[3].key: is missing",
            "devices.keys[3].rat: unknown key",
            "devices.keys[4].key: is longer than 256 characters",
            "devices.keys[5]: wants a group of settings",
            "devices.keys[6].rate: \"200\" is not a rate; write one such as 200/s",
            "devices.keys[6].bytes: \"2MiB/d\" is not a rate; write one such as 2MiB/s",
            "devices.keys[7].rate: 0/s allows nothing",
            "devices.keys[7].bytes: \"-1/s\" is not a rate",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
        for secret in ["secret-0123456789", "short", "lll"] { #expect(!text.contains(secret)) }
    }

    @Test("Two names for one key are a mistake")
    func same() throws {
        let error = #expect(throws: ConfigurationProblems.self) {
            try configuration(
                "[{name: a, key: secret-0123456789}, {name: b, key: secret-0123456789}]"
            )
        }
        let text = try #require(error).description
        #expect(text.contains("devices.keys[1].key: is that of a too"), "\(text)")
        #expect(!text.contains("secret-0123456789"))
    }

    @Test("An open listener that others reach is worth a warning")
    func warning() throws {
        let key = "[{name: a, key: secret-0123456789}]"
        #expect(try configuration("[]", listen: "0.0.0.0:8080").listenerWarnings.count == 1)
        #expect(try configuration("[]").listenerWarnings == [])
        #expect(try configuration(key, listen: "0.0.0.0:8080").listenerWarnings == [])
    }
}

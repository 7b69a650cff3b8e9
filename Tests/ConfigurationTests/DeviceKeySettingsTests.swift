import Crypto
import Net
import SLS
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

@Suite struct DeviceKeySettingsTests {
    private let variables = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s",
        "PHONE_KEY": "phone-0123456789abcdef",
    ]

    private func configuration(
        _ keys: String,
        listen: String = "127.0.0.1:8080",
        tls: String = ""
    ) throws -> GatewayConfiguration {
        try read(
            """
            listen: \(listen)
            \(tls)
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

    @Test("A key may be the secret of an AccessKey, and a certificate do without")
    func ways() throws {
        let made = TestCertificates.shared
        let read = try configuration(
            "[{name: a, id: LTAIgateway1, key: secret-0123456789, accept: [sls]}, "
                + "{name: b, certificate: \"dns:phone-*.example.com\"}]",
            tls: "tls: { certificate: \(made.certificate("server")), key: \(made.key("server")), "
                + "client_ca: \(made.certificate("authority")) }"
        )
        var signing = DeviceKey(name: "a", secret: Secret("secret-0123456789"))
        signing.accessKeyID = "LTAIgateway1"
        signing.ways = [.sls]
        var vouched = DeviceKey(name: "b", secret: nil)
        vouched.certificates = [try #require(CertificatePattern("dns:phone-*.example.com"))]
        #expect(read.devices.keys == [signing, vouched])
    }

    @Test("Ways that cannot be gone are mistakes")
    func impossible() throws {
        let error = #expect(throws: ConfigurationProblems.self) {
            try configuration(
                """

                    - { name: a, key: secret-a-0123456789, accept: [sls, keys] }
                    - { name: b, key: secret-b-0123456789, accept: sls }
                    - { name: c, id: same, key: secret-c-0123456789, accept: key }
                    - { name: d, id: same, key: secret-d-0123456789 }
                    - { name: e, id: "a b" }
                    - { name: f, certificate: "dns:a*.b*" }
                    - { name: g, certificate: "dns:g", accept: key }
                    - { name: h, certificate: ["dns:G", "phone"] }
                """
            )
        }
        let text = try #require(error).description
        for part in [
            "devices.keys[0].accept: \"keys\" is not one of key, sls, hmac",
            "devices.keys[1].accept: has sls, which wants id",
            "devices.keys[2].id: is what SDKs sign with, and accept leaves that out",
            "devices.keys[3].id: is that of c too",
            "devices.keys[4].id: a name has 1 to 64",
            "devices.keys[4].key: is missing",
            "devices.keys[5].certificate: \"dns:a*.b*\" is not a kind",
            "devices.keys[6].certificate: wants tls.client_ca",
            "devices.keys[6].key: is missing",
            "devices.keys[7].certificate: \"phone\" is not a kind",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
        #expect(!text.contains("secret-"))
    }

    @Test("An open listener that others reach is worth a warning")
    func warning() throws {
        let key = "[{name: a, key: secret-0123456789}]"
        #expect(try configuration("[]", listen: "0.0.0.0:8080").listenerWarnings.count == 1)
        #expect(try configuration("[]").listenerWarnings == [])
        #expect(try configuration(key, listen: "0.0.0.0:8080").listenerWarnings == [])
    }
}

/// `devices.accept` and `devices.cors.headers`, which are lists of names.
@Suite struct DeviceListsTests {
    @Test(
        "The dialects that are taken are those of the list",
        arguments: [
            ("devices: {}", AcceptedDialects.all), ("devices: { accept: [json] }", .json),
            ("devices: { accept: \"sls, otlp\" }", [.sls, .otlp]),
            ("devices: { accept: [loki, splunk, elastic, loki] }", [.loki, .splunk, .elastic]),
            ("devices: { accept: [json, sls, otlp, elastic, splunk, loki] }", .all),
        ] as [(String, AcceptedDialects)]
    )
    func accepted(line: String, dialects: AcceptedDialects) throws {
        let configuration = try read(minimal + line + "\n")
        #expect(configuration.devices.accepted == dialects)
    }

    @Test(
        "A list of dialects that cannot be meant is a mistake with its remedy",
        arguments: [
            (
                "[jsn]",
                #""jsn" is not one of json, sls, otlp, elastic, splunk, loki; did you mean json?"#
            ),
            ("[json, elasticsearch]", #""elasticsearch" is not one of json, sls, otlp"#),
            ("[]", "is an empty list, with which no device could send; leave it out to take all,"),
            ("json otlp", #""json otlp" is not one of"#),
            ("[json, sls, otlp, elastic, splunk, loki, json]", "has 7 values; give at most 6"),
            ("{ json: true }", "wants one of json, sls, otlp, elastic, splunk, loki"),
        ] as [(String, String)]
    )
    func wrongDialects(list: String, reason: String) {
        let found = problems(minimal + "devices: { accept: \(list) }\n").first
        #expect(found?.contains("sluice.yaml:2: devices.accept: ") == true, "\(found ?? "")")
        #expect(found?.contains(reason) == true, "\(found ?? "")")
    }

    @Test(
        "The names of headers are those of RFC 9110, and few",
        arguments: [
            ("[X-App]", nil), ("\"x-app, x-other\"", nil), ("[]", nil),
            ("[\"*\"]", #""*" is not the name of a header; list each that pages send"#),
            ("[\"x app\"]", #""x app" is not the name of a header"#),
            ("[\"a\\r\\nb\"]", "is not the name of a header"),
            ("[\"\"]", "is not the name of a header"),
            ("[\(String(repeating: "h", count: 65))]", "is not the name of a header"),
            ("[\(Array(repeating: "x", count: 33).joined(separator: ","))]", "at most 32"),
        ] as [(String, String?)]
    )
    func headers(list: String, reason: String?) {
        let found = problems(minimal + "devices: { cors: { headers: \(list) } }\n").first
        guard let reason else {
            #expect(found == nil)
            return
        }
        #expect(found?.contains("sluice.yaml:2: devices.cors.headers: ") == true, "\(found ?? "")")
        #expect(found?.contains(reason) == true, "\(found ?? "")")
    }
}

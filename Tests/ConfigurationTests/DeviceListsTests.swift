import Configuration
import TestConfiguration
import Testing

/// `devices.accept` and `devices.cors.headers`, which are lists of names.
@Suite struct DeviceListsTests {
    private static let environment = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

    /// What is wrong with one line behind a sound configuration.
    private func problem(_ line: String) -> String? {
        do {
            _ = try read(minimal + line + "\n", Self.environment)
            return nil
        } catch {
            return "\(error)"
        }
    }

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
        let configuration = try read(minimal + line + "\n", Self.environment)
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
            (
                "[]",
                "is an empty list, with which no device could send; leave it out to take all, or list "
                    + "some of json, sls, otlp, elastic, splunk, loki"
            ),
            ("json otlp", #""json otlp" is not one of"#),
            ("[json, sls, otlp, elastic, splunk, loki, json]", "has 7 values; give at most 6"),
            ("{ json: true }", "wants one of json, sls, otlp, elastic, splunk, loki"),
        ] as [(String, String)]
    )
    func wrongDialects(list: String, reason: String) {
        let found = problem("devices: { accept: \(list) }")
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
        let found = problem("devices: { cors: { headers: \(list) } }")
        guard let reason else {
            #expect(found == nil)
            return
        }
        #expect(found?.contains("sluice.yaml:2: devices.cors.headers: ") == true, "\(found ?? "")")
        #expect(found?.contains(reason) == true, "\(found ?? "")")
    }
}

import Configuration
import Net
import TestConfiguration
import TestSupport
import Testing

/// The group `tls` of the whole configuration, read.
@Suite struct DeviceTLSSettingsTests {
    private static let made = TestCertificates.shared
    private static let pair =
        "certificate: \(made.certificate("server")), key: \(made.key("server"))"
    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

    private func problems(_ text: String) -> String {
        do {
            _ = try read(minimal + text, keys)
            return "nothing is wrong"
        } catch {
            return "\(error)"
        }
    }

    @Test("It listens where it is told to, or else on the usual port")
    func settings() throws {
        func tls(_ more: String) throws -> DeviceTLS? {
            try read(minimal + "tls: {\(Self.pair)\(more)}\n", keys).tls
        }
        #expect(try read(minimal, keys).tls == nil)
        let server = TLSSettings(certificates: [Self.made.files("server")])
        let usual = ListenAddress.everywhere(port: 8443)
        #expect(try tls("") == DeviceTLS(listen: usual, settings: server))
        let named = ListenAddress(host: "::1", port: 443)
        #expect(
            try tls(", listen: \"[::1]:443\"") == DeviceTLS(listen: named, settings: server)
        )
    }

    @Test(
        "A mistake is named with its key and remedy",
        arguments: [
            ("tls: {listen: \":8443\"}", "tls.certificate: is missing; name the file"),
            ("tls: {PAIR, listen: 8443}", "tls.listen: \"8443\" is not an address to listen on"),
            (
                "tls: {PAIR, listen: \":8080\"}",
                "tls.listen: [::]:8080 takes the port of listen ([::]:8080); give one of"
            ),
            (
                "tls: {PAIR, listen: 127.0.0.1:8081}",
                "tls.listen: 127.0.0.1:8081 takes the port of admin.listen (127.0.0.1:8081)"
            ),
            ("listen: \":8443\"\ntls: {PAIR}", "tls.listen: [::]:8443 takes the port of listen"),
            ("tls: {PAIR, ca: x}", "tls.ca: unknown key; known: listen, certificate, key,"),
        ]
    )
    func mistakes(text: String, part: String) {
        let said = problems(text.replacing("PAIR", with: Self.pair) + "\n")
        #expect(said.contains(part), "\(said)")
        #expect(said.split(separator: "\n").count <= 2, "\(said)")
    }

    @Test("The summary of a check tells of it")
    func check() throws {
        let authority = "client_ca: \(Self.made.certificate("authority"))"
        let summary = ConfigurationSummary.text(
            try read(minimal + "tls: {\(Self.pair), \(authority)}\n", keys)
        )
        #expect(
            summary.contains(
                "  devices      [::]:8080\n"
                    + "  devices-tls  [::]:8443, TLS and certificates of clients\n"
            ),
            "\(summary)"
        )
    }
}

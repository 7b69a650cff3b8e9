import Configuration
import TestConfiguration
import TestSupport
import Testing

/// A mistake in one setting hides no mistake in another, whatever the two have to do with each
/// other.
@Suite struct AllProblemsTests {
    private let variables = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

    private func problems(_ text: String, _ more: [String: String] = [:]) -> [String] {
        let directory = TemporaryDirectory()
        let inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            environment: variables.merging(more) { $1 }
        )
        do {
            _ = try GatewayConfiguration.read(inputs)
            return []
        } catch {
            return "\(error)".replacing("\(directory.path)/", with: "").split(separator: "\n")
                .map(String.init)
        }
    }

    /// Nearly each line has a mistake that was found only when those before were mended.
    private static let everything = """
        listen: 127.0.0.1:8081
        admin:
          listen: 127.0.0.1:8081
          client: { key: k.pem }
        tls:
          listen: 127.0.0.1:8081
          certificate: /none/chain.pem
          key: /none/key.pem
          client_ca: /none/ca.pem
          certificates: 5
        devices:
          proxy_protocol: true
          keys:
            - name: web
              key: short
              id: LTAI1
              certificate: ["dns:a", bad]
              destinations: ap, \(String(repeating: "l", count: 65))
            - name: web
              key: one-0123456789abcdef
              id: LTAI1
              certificate: "dns:a"
            - key: one-0123456789abcdef
          jwt:
            keys:
              - { file: /none/jwt.pem }
        destinations:
          app:
            endpoint: "not an endpoint, also not"
            project: my-project
            logstore: app-log
            credential: nope
            ca_file: /none/sls.pem
            max_bytes: 8GiB
            lanes: 3
          web:
            endpoint: [cn-hangzhou.log.aliyuncs.com, cn-hangzhou.log.aliyuncs.com, "not one"]
            project: my-project
            logstore: app-log
            credential: stand
        credentials:
          stands: { from: assume_role, source: upon, session_name: "?" }
          upon: { from: assume_role, source: stands }
          alone: { from: assume_role, source: nowhere }
        webhook: { authorization: Bearer x }
        limits: { body: 100MiB, head: 1KiB }
        other: 1
        """

    @Test(
        "One configuration with a mistake of each kind shows all of them, each at its line",
        arguments: [
            "1: listen: 127.0.0.1:8081 takes the port of admin.listen",
            "4: admin.client.key: there is no certificate for it",
            "6: tls.listen: 127.0.0.1:8081 takes the port of listen",
            "6: tls.listen: 127.0.0.1:8081 takes the port of admin.listen",
            "7: tls.certificate: /none/chain.pem cannot be read",
            "8: tls.key: /none/key.pem cannot be read",
            "9: tls.client_ca: /none/ca.pem cannot be read",
            "10: tls.certificates: wants a list of groups",
            "12: devices.proxy_protocol: wants trusted_proxies",
            "15: devices.keys[0].key: has 5 characters",
            "17: devices.keys[0].certificate: \"bad\" is not a kind",
            "18: devices.keys[0].destinations: there is no destination \"ap\"; did you mean app?",
            "18: devices.keys[0].destinations: longer than 64 bytes",
            "19: devices.keys[1].name: web is in the list already",
            "21: devices.keys[1].id: is that of web too",
            "22: devices.keys[1].certificate: has a name that web has too",
            "23: devices.keys[2].name: is missing",
            "23: devices.keys[2].key: is that of web too",
            "25: devices.jwt.algorithm: is missing",
            "26: devices.jwt.keys[0].kid: is missing",
            "26: devices.jwt.keys[0].file: /none/jwt.pem cannot be read",
            "29: destinations.app.endpoint: endpoint 'not an endpoint' ",
            "29: destinations.app.endpoint: endpoint 'also not' ",
            "32: destinations.app.credential: there is no credential named nope",
            "33: destinations.app.ca_file: /none/sls.pem cannot be read",
            "34: destinations.app.max_bytes: 8GiB is beyond queue.max_bytes",
            "35: destinations.app.lanes: has a meaning with exactly_once",
            "36: destinations.web: has the project and logstore of app",
            "37: destinations.web.endpoint: https://cn-hangzhou.log.aliyuncs.com is given twice",
            "37: destinations.web.endpoint: endpoint 'not one' ",
            "40: destinations.web.credential: there is no credential named stand; did you mean stands?",
            "42: credentials.stands.role_arn: is missing",
            "42: credentials.stands.session_name: is not 2 to 64",
            "42: credentials.stands: it stands on itself: stands, by upon, by stands",
            "43: credentials.upon: it stands on itself",
            "44: credentials.alone: its source nowhere is no credential here",
            "45: webhook.authorization: is of no use without webhook.url",
            "46: limits.body: bodies_in_flight (64MiB) has no room for one body",
            "46: limits.head: head (1KiB) includes the request line",
            "47: other: unknown key",
        ]
    )
    func all(_ expected: String) {
        let said = problems(Self.everything)
        let (line, text) = (expected.prefix { $0 != ":" }, expected.drop { $0 != ":" })
        #expect(
            said.contains { problem in
                // Several mistakes in one value share a line of the report.
                problem.hasPrefix("sluice.yaml:\(line)\(text)")
                    || problem.hasPrefix("sluice.yaml:\(line): ")
                        && problem.contains(text.drop { $0 != "'" }) && text.contains("'")
            },
            "\(said.joined(separator: "\n"))"
        )
    }

    @Test("Nothing else is said: what depends on a value that is wrong is not guessed at")
    func noMore() {
        #expect(problems(Self.everything).count == 42, "\(problems(Self.everything))")
        let unreadable = """
            listen: nowhere
            admin: { listen: "127.0.0.1:8080" }
            queue: { max_bytes: 5000TiB }
            limits: { bodies_in_flight: lots, body: 100MiB }
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: l-1, max_bytes: 8GiB }
            """
        #expect(
            problems(unreadable).map { $0.split(separator: " ")[1] } == [
                "listen:", "queue.max_bytes:", "limits.bodies_in_flight:",
            ]
        )
    }

    @Test("Without any destination the rest is looked at all the same")
    func noDestination() {
        let said = problems("listen: 127.0.0.1:8081\n")
        #expect(said.contains { $0.hasPrefix("no destination") })
        #expect(said.contains { $0.hasPrefix("sluice.yaml:1: listen: 127.0.0.1:8081 takes") })
    }

    @Test("A file that is no YAML does not hide a variable that is wrong")
    func withoutYAML() {
        let said = problems("a: [\n", ["SLUICE_LISTEN": "nowhere"])
        #expect(said.count == 2)
        #expect(said.contains { $0.hasPrefix("sluice.yaml:2: not valid YAML") })
        #expect(said.contains { $0.hasPrefix("environment: SLUICE_LISTEN: \"nowhere\"") })
    }
}

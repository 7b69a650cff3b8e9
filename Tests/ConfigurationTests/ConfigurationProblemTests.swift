import Configuration
import Crypto
import SLS
import TestConfiguration
import TestSupport
import Testing

@Suite struct ConfigurationProblemTests {
    @Test("Everything wrong is said at once, each with file, line, key and remedy")
    func everything() {
        let text = """
            listn: 0.0.0.0:80
            admin: { listen: "0.0.0.0:9000" }
            data_dir: [a, b]
            queue:
              max_bytes: 4G
              max_age: soon
              durability: fulll
              max_bytes: 1GiB
            devices: { cors: [] }
            destinations:
              app:
                endpoint: https://my-project.cn-hangzhou.log.aliyuncs.com
                project: My_Project
                logstore: app-log
                credential: defalt
                region: "${REGION}"
                tags: { __topic__: x }
                packet: { logs: 0 }
              web:
                endpoint: https://logs.example.com
                project: my-project
            credentials:
              defualt: { from: static, access_key_id: x }
              other: { from: ecs }
            """
        #expect(
            problems(text).joined(separator: "\n") == """
                sluice.yaml:1: listn: unknown key; did you mean listen?
                sluice.yaml:2: admin.listen: 0.0.0.0:9000 can be reached from other machines, so it wants a token of yours: set admin.token, SLUICE_ADMIN_TOKEN or SLUICE_ADMIN_TOKEN_FILE, or listen on 127.0.0.1
                sluice.yaml:3: data_dir: wants a path, got a list
                sluice.yaml:5: queue.max_bytes: "4G" is not a size; write one such as 512KiB, 64MiB, 4GiB
                sluice.yaml:6: queue.max_age: "soon" is not a duration; write one such as 500ms, 10s, 2h, 7d
                sluice.yaml:7: queue.durability: "fulll" is not one of full, normal; did you mean full?
                sluice.yaml:8: queue.max_bytes: given twice; first on line 5
                sluice.yaml:9: devices.cors: wants a group of settings, got a list
                sluice.yaml:12: destinations.app.endpoint: endpoint 'https://my-project.cn-hangzhou.log.aliyuncs.com' begins with a project: write https://cn-hangzhou.log.aliyuncs.com and set project to my-project
                sluice.yaml:13: destinations.app.project: the project name 'My_Project' is not valid: use 3 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit
                sluice.yaml:15: destinations.app.credential: there is no credential named defalt; did you mean defualt?
                sluice.yaml:16: destinations.app.region: the environment has no REGION; set it, or give a default as in ${REGION:-value}
                sluice.yaml:17: destinations.app.tags.__topic__: this name is reserved by SLS; choose another
                sluice.yaml:18: destinations.app.packet.logs: 0 is not between 1 and 40960
                sluice.yaml:20: destinations.web.logstore: is missing
                sluice.yaml:20: destinations.web.region: signature v4 needs a region, and the endpoint 'https://logs.example.com' does not show one: set region (for example cn-hangzhou), or use signature v1
                sluice.yaml:23: credentials.defualt.access_key_secret: is missing or empty; a static credential needs it
                sluice.yaml:24: credentials.other.from: \"ecs\" is not one of environment, static, file, admin, assume_role, oidc_role, ecs_role, uri, chain
                """
        )
    }

    @Test(
        "One mistake, one line",
        arguments: [
            (minimal + "limits: 5\n", "2: limits: wants a group of settings, got a"),
            (minimal + "admin: {token: short}\n", "2: admin.token: has 5 characters;"),
            (minimal + "admin: {token 0123456789abcdef}\n", "2: admin.token: no colon"),
            (minimal + "listen: 127.0.0.1:8081\n", "2: listen: 127.0.0.1:8081 takes"),
            (minimal + "admin: {listen: \"127.0.0.1:8080\"}\n", "2: admin.listen:"),
            (minimal + "listen: 127.0.0.2:8081\n", ""),
            (minimal + "admin: {token: ${TOKEN}}\n", "2: not valid YAML: did not find"),
            (minimal + "queue: {max_bytes: 1KiB}\n", "2: queue.max_bytes: 1KiB is not"),
            (
                "destinations:\n  a: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: \"*\"}\n"
                    + "  b: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: \"*\"}\n",
                "3: destinations.b: has the project and logstore of a, so nothing would ever reach it"
            ),
            (
                "destinations: {a: {endpoint: \"http://10.0.0.1\", project: my-p, logstore: ls}}\n",
                "1: destinations.a.region: signature v4 needs a region, and the endpoint 'http://10.0.0.1' does not show one: set region (for example cn-hangzhou), or use signature v1"
            ),
            (
                "destinations: {a: {endpoint: log-global.aliyuncs.com, project: my-p, logstore: ls}}\n",
                "1: destinations.a.region: signature v4 needs a region, and the endpoint 'https://log-global.aliyuncs.com' does not show one: set region (for example cn-hangzhou), or use signature v1"
            ),
            (
                minimal.replacing(
                    "logstore: app-log",
                    with: "logstore: app-log, packet: {bytes: 11MiB}"
                ),
                "1: destinations.app.packet.bytes: 11MiB is not between 1B and 10MiB"
            ),
            ("destinations: {a: {SLS, credential: x}}\n", "1: destinations.a.credential: there is"),
            (minimal + "limits: {body: 100MiB}\n", "2: limits.body: bodies_in_flight"),
            (minimal + "limits: {answer: 64MiB}\n", "2: limits.answer:"),
            (minimal + "limits: {answers_in_flight: 4MiB}\n", "2: limits.answers_in_flight:"),
            (
                minimal + "limits: {heads_in_flight: 1MiB, head: 512KiB}\n",
                "2: limits.heads_in_flight: heads_in_flight (1MiB) has no room for four heads (512KiB); raise it or lower head"
            ),
            (minimal + "limits: {body_rate: 1KiB}\n", "2: limits.body_rate: \"1KiB\""),
            (minimal + "limits: {answer_rate: 0/s}\n", "2: limits.answer_rate: 0/s is"),
            ("destinations: {a: {SLS, ca_file: /none.pem}}\n", "1: destinations.a.ca_file:"),
            ("a: [\n", "2: not valid YAML: did not find expected node content while"),
        ]
    )
    func single(text: String, expected: String) {
        let sls = "endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: ls"
        let found = problems(text.replacing("SLS", with: sls))
        #expect(found.begin(with: expected.isEmpty ? [] : ["sluice.yaml:\(expected)"]), "\(found)")
    }

    @Test("Without file and environment it says how to begin")
    func nothing() {
        #expect(
            problems(ConfigurationInputs()).joined() == """
                no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox
                """
        )
    }

    @Test("Half a description in the environment names the other half")
    func half() {
        #expect(
            problems(
                ConfigurationInputs(
                    environment: ["SLUICE_ENDPOINT": "cn-hangzhou.log.aliyuncs.com"]
                )
            ).joined(separator: "\n") == """
                environment: SLUICE_PROJECT: not set, and a destination needs it
                environment: SLUICE_LOGSTORE: not set, and a destination needs it
                the environment has no ALIBABA_CLOUD_ACCESS_KEY_ID and no ALIBABA_CLOUD_ACCESS_KEY_SECRET; set them, describe a credential with from: static, or try without keys: sluice serve --sandbox
                """
        )
    }

    @Test("Missing keys are named with every way to give them")
    func missingKeys() {
        let environment = [
            "SLUICE_ENDPOINT": "cn-hangzhou.log.aliyuncs.com", "SLUICE_PROJECT": "my-project",
            "SLUICE_LOGSTORE": "app-log", "ALIBABA_CLOUD_ACCESS_KEY_ID": "id",
        ]
        #expect(
            problems(ConfigurationInputs(environment: environment)).joined()
                == "the environment has no ALIBABA_CLOUD_ACCESS_KEY_SECRET; set it, describe a "
                + "credential with from: static, or try without keys: sluice serve --sandbox"
        )
    }

    @Test("A wrong option or variable is named as it was given")
    func overrides() {
        let inputs = ConfigurationInputs(
            options: ["--log-level": "loud"],
            environment: ["SLUICE_LISTEN": "nowhere", "SLUICE_ADMIN_TOKEN": "secret-but-short"],
            isSandboxed: true
        )
        #expect(
            problems(inputs).joined(separator: "\n") == """
                environment: SLUICE_LISTEN: "nowhere" is not an address to listen on: the port is missing; write it like 0.0.0.0:8080, [::1]:8080 or :8080
                environment: SLUICE_ADMIN_TOKEN: has 16 characters; give at least 32, for example from: openssl rand -hex 32
                --log-level: "loud" is not one of debug, info, warning, error
                """
        )
    }

    @Test("A token may come from a file, but not twice")
    func tokenFile() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("token", String(repeating: "t", count: 40) + "\n")
        var inputs = ConfigurationInputs(
            options: ["--admin-listen": "0.0.0.0:8081"],
            environment: ["SLUICE_ADMIN_TOKEN_FILE": path],
            isSandboxed: true
        )
        let token = try GatewayConfiguration.read(inputs).admin.token
        #expect(token == Secret(String(repeating: "t", count: 40)))
        inputs.environment["SLUICE_ADMIN_TOKEN"] = String(repeating: "u", count: 40)
        #expect(
            problems(inputs).joined()
                == "environment: SLUICE_ADMIN_TOKEN_FILE: SLUICE_ADMIN_TOKEN is set too; set one of them"
        )
    }

    @Test("A file that is not there is named")
    func noFile() {
        #expect(
            problems(ConfigurationInputs(file: "/none/sluice.yaml")).joined()
                == "the configuration file /none/sluice.yaml cannot be read: No such file or directory"
        )
    }
}

/// A mistake in one setting hides no mistake in another, whatever the two have to do with each
/// other.
@Suite struct AllProblemsTests {
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
        let said = problems("a: [\n", testKeys.merging(["SLUICE_LISTEN": "nowhere"]) { $1 })
        #expect(said.count == 2)
        #expect(said.contains { $0.hasPrefix("sluice.yaml:2: not valid YAML") })
        #expect(said.contains { $0.hasPrefix("environment: SLUICE_LISTEN: \"nowhere\"") })
    }
}

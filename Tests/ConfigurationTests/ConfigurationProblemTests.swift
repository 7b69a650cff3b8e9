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
            problems(in: text) == """
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
            (
                minimal + "limits: 5\n",
                "sluice.yaml:2: limits: wants a group of settings, got a plain value"
            ),
            (
                minimal + "admin: {token: short}\n",
                "sluice.yaml:2: admin.token: has 5 characters; give at least 32, for example from: openssl rand -hex 32"
            ),
            (
                minimal + "admin: {token 0123456789abcdef}\n",
                "sluice.yaml:2: admin.token: no colon separates it from its value; write token: and a space before the value"
            ),
            (
                minimal + "listen: 127.0.0.1:8081\n",
                "sluice.yaml:2: listen: 127.0.0.1:8081 takes the port of admin.listen (127.0.0.1:8081); give one of them another"
            ),
            (
                minimal + "admin: {listen: \"127.0.0.1:8080\"}\n",
                "sluice.yaml:2: admin.listen: 127.0.0.1:8080 takes the port of listen ([::]:8080); give one of them another"
            ),
            (
                minimal + "listen: 127.0.0.2:8081\n",
                "nothing is wrong"
            ),
            (
                minimal + "admin: {token: ${TOKEN}}\n",
                "sluice.yaml:2: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping; inside { } and [ ] a ${...} wants quotes: \"${NAME}\""
            ),
            (
                minimal + "queue: {max_bytes: 1KiB}\n",
                "sluice.yaml:2: queue.max_bytes: 1KiB is not between 1MiB and 1024TiB"
            ),
            (
                "destinations:\n  a: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: \"*\"}\n"
                    + "  b: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: \"*\"}\n",
                "sluice.yaml:3: destinations.b: has the project and logstore of a, so nothing would ever reach it"
            ),
            (
                "destinations: {a: {endpoint: \"http://10.0.0.1\", project: my-p, logstore: ls}}\n",
                "sluice.yaml:1: destinations.a.region: signature v4 needs a region, and the endpoint 'http://10.0.0.1' does not show one: set region (for example cn-hangzhou), or use signature v1"
            ),
            (
                "destinations: {a: {endpoint: log-global.aliyuncs.com, project: my-p, logstore: ls}}\n",
                "sluice.yaml:1: destinations.a.region: signature v4 needs a region, and the endpoint 'https://log-global.aliyuncs.com' does not show one: set region (for example cn-hangzhou), or use signature v1"
            ),
            (
                minimal.replacing(
                    "logstore: app-log",
                    with: "logstore: app-log, packet: {bytes: 11MiB}"
                ),
                "sluice.yaml:1: destinations.app.packet.bytes: 11MiB is not between 1B and 10MiB"
            ),
            (
                "destinations: {a: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: ls, credential: x}}\n",
                "sluice.yaml:1: destinations.a.credential: there is no credential named x"
            ),
            (
                minimal + "limits: {body: 100MiB}\n",
                "sluice.yaml:2: limits.body: bodies_in_flight (64MiB) has no room for one body (100MiB); raise it or lower body"
            ),
            (
                minimal + "limits: {answer: 64MiB}\n",
                "sluice.yaml:2: limits.answer: answers_in_flight (32MiB) has no room for one answer (64MiB) and its head (16KiB); raise it or lower answer"
            ),
            (
                minimal + "limits: {answers_in_flight: 4MiB}\n",
                "sluice.yaml:2: limits.answers_in_flight: answers_in_flight (4MiB) has no room for one answer (4MiB) and its head (16KiB); raise it or lower answer"
            ),
            (
                minimal + "limits: {heads_in_flight: 1MiB, head: 512KiB}\n",
                "sluice.yaml:2: limits.heads_in_flight: heads_in_flight (1MiB) has no room for four heads (512KiB); raise it or lower head"
            ),
            (
                minimal + "limits: {body_rate: 1KiB}\n",
                "sluice.yaml:2: limits.body_rate: \"1KiB\" is not a rate; write one such as 1KiB/s"
            ),
            (
                minimal + "limits: {answer_rate: 0/s}\n",
                "sluice.yaml:2: limits.answer_rate: 0/s is not between 1B/s and 1GiB/s"
            ),
            (
                "destinations: {a: {endpoint: cn-hangzhou.log.aliyuncs.com, project: my-p, logstore: ls, ca_file: /none.pem}}\n",
                "sluice.yaml:1: destinations.a.ca_file: /none.pem cannot be read: No such file or directory"
            ),
            (
                "a: [\n",
                "sluice.yaml:2: not valid YAML: did not find expected node content while parsing a flow node"
            ),
        ]
    )
    func single(text: String, expected: String) {
        #expect(problems(in: text) == expected)
    }

    @Test("Without file and environment it says how to begin")
    func nothing() {
        #expect(
            problems(.init()) == """
                no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox
                """
        )
    }

    @Test("Half a description in the environment names the other half")
    func half() {
        #expect(
            problems(.init(environment: ["SLUICE_ENDPOINT": "cn-hangzhou.log.aliyuncs.com"])) == """
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
            problems(.init(environment: environment))
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
            problems(inputs) == """
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
            problems(inputs)
                == "environment: SLUICE_ADMIN_TOKEN_FILE: SLUICE_ADMIN_TOKEN is set too; set one of them"
        )
    }

    @Test("A file that is not there is named")
    func noFile() {
        #expect(
            problems(.init(file: "/none/sluice.yaml"))
                == "the configuration file /none/sluice.yaml cannot be read: No such file or directory"
        )
    }

    private func problems(in text: String) -> String {
        let directory = TemporaryDirectory()
        let keys = [
            "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
        ]
        return problems(.init(file: directory.file("sluice.yaml", text), environment: keys))
            .replacing("\(directory.path)/", with: "")
    }

    private func problems(_ inputs: ConfigurationInputs) -> String {
        do {
            _ = try GatewayConfiguration.read(inputs)
            return "nothing is wrong"
        } catch {
            return "\(error)"
        }
    }
}

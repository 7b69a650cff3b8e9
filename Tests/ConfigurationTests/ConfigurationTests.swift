import Credentials
import Crypto
import Glibc
import HTTP
import Net
import Queue
import SLS
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

@Suite struct ConfigurationTests {
    private let directory = TemporaryDirectory()

    @Test("A gateway to try out listens on this machine only, unless told otherwise")
    func sandboxedListener() throws {
        var inputs = ConfigurationInputs(isSandboxed: true)
        #expect(try GatewayConfiguration.read(inputs).listen.description == "127.0.0.1:8080")
        inputs.options = ["--listen": ":8080"]
        #expect(try GatewayConfiguration.read(inputs).listen.description == "[::]:8080")
    }

    @Test("The design's example is understood, every setting of it")
    func example() throws {
        let configuration = try read(
            """
            listen: 127.0.0.1:9090
            admin: { listen: "127.0.0.1:9091", token: "${TOKEN}" }
            data_dir: /tmp/sluice
            queue: { max_bytes: 2GiB, max_age: 1d, durability: normal, min_free_bytes: 0 }
            destinations:
              app:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-project
                logstore: app-log
                signature: v1
                compress: zstd
                packet: { bytes: 512KiB, logs: 100, age: 2s }
                topic: t
                tags: { env: prod, zone: a }
                concurrency: 3
            credentials:
              default: { from: environment }
            log: { level: debug, format: json }
            limits: { body: 1MiB, idle_timeout: 30s, fields: 50, inflate_ratio: 90, chunk_extensions: 2KiB, trailers: 8KiB }
            drain_timeout: 3s
            """,
            testKeys.merging(["TOKEN": String(repeating: "t", count: 32)]) { $1 }
        )
        #expect(configuration.listen.description == "127.0.0.1:9090")
        #expect(configuration.admin.token?.revealed == String(repeating: "t", count: 32))
        #expect(configuration.queue.bytesMax == 2 << 30)
        #expect(configuration.queue.durability == .normal)
        #expect(configuration.credentials["default"] == .environment)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.format == .json)
        #expect(configuration.limits.bodyBytes == 1 << 20)
        #expect(configuration.limits.http.headFields == 50)
        #expect(configuration.limits.inflateRatio == 90)
        #expect(configuration.limits.http.chunkExtensionBytes == 2 << 10)
        #expect(configuration.limits.http.trailerBytes == 8 << 10)
        #expect(configuration.drainTimeout == .seconds(3))
        let destination = configuration.defaultDestination
        #expect(destination.logstore == .named("app-log"))
        #expect(destination.signature == .v1)
        #expect(destination.transfer.compression == .zstd)
        #expect(
            destination.transfer.packet == .init(rawBytes: 512 << 10, logs: 100, age: .seconds(2))
        )
        #expect(destination.transfer.concurrency == 3)
        #expect(destination.labels.tags.map(\.key) == ["env", "zone"])
    }

    @Test("The environment alone describes the simple case")
    func environmentAlone() throws {
        let configuration = try GatewayConfiguration.read(
            .init(
                environment: testKeys.merging([
                    "SLUICE_ENDPOINT": "cn-beijing.log.aliyuncs.com",
                    "SLUICE_PROJECT": "my-project",
                    "SLUICE_LOGSTORE": "*", "SLUICE_LISTEN": ":1234", "SLUICE_DATA_DIR": "/tmp/x",
                ]) { $1 }
            )
        )
        #expect(configuration.destinations.map(\.name) == ["default"])
        #expect(configuration.defaultDestination.logstore == .any)
        #expect(configuration.listen.description == "[::]:1234")
        #expect(configuration.admin.listen.description == "127.0.0.1:8081")
    }

    @Test("A look-alike on this machine needs no region; elsewhere the environment can give it")
    func region() throws {
        func region(_ more: [String: String]) throws -> String? {
            let simple = ["SLUICE_PROJECT": "my-project", "SLUICE_LOGSTORE": "*"]
            let environment = testKeys.merging(simple) { $1 }.merging(more) { $1 }
            return try GatewayConfiguration.read(.init(environment: environment))
                .defaultDestination.region
        }
        #expect(try region(["SLUICE_ENDPOINT": "http://localhost:8082"]) == "local")
        #expect(
            try region([
                "SLUICE_ENDPOINT": "https://log-global.aliyuncs.com",
                "SLUICE_REGION": "cn-hangzhou",
            ]) == "cn-hangzhou"
        )
    }

    @Test("Flag beats environment beats file")
    func precedence() throws {
        let file = directory.file("s.yaml", minimal + "listen: 127.0.0.1:1\nlog: {level: error}\n")
        func listen(_ options: [String: String], _ environment: [String: String]) throws -> String {
            try GatewayConfiguration.read(
                .init(
                    file: file,
                    options: options,
                    environment: testKeys.merging(environment) { $1 }
                )
            ).listen.description
        }
        #expect(try listen([:], [:]) == "127.0.0.1:1")
        #expect(try listen([:], ["SLUICE_LISTEN": "127.0.0.1:2"]) == "127.0.0.1:2")
        #expect(
            try listen(["--listen": "127.0.0.1:3"], ["SLUICE_LISTEN": "127.0.0.1:2"])
                == "127.0.0.1:3"
        )
        #expect(try listen([:], ["SLUICE_LISTEN": ""]) == "127.0.0.1:1")
    }

    @Test("A file's data directory that the environment overrules is worth a warning")
    func overruledDirectory() throws {
        let listen = "listen: 127.0.0.1:0\n"
        let file = directory.file("s.yaml", minimal + listen + "data_dir: ${DIRECTORY:-/data}\n")
        let silent = directory.file("t.yaml", minimal + listen)
        func warnings(
            _ file: String,
            _ environment: [String: String],
            options: [String: String] = [:]
        ) throws -> [String] {
            let all = testKeys.merging(environment) { $1 }
            let inputs = ConfigurationInputs(file: file, options: options, environment: all)
            return try GatewayConfiguration.read(inputs).startWarnings
        }
        let image = ["SLUICE_DATA_DIR": "/var/lib/sluice"]
        let said = try #require(warnings(file, image).first)
        #expect(said.contains("data_dir is /data in") && said.contains("=/var/lib/sluice, which"))
        #expect(try warnings(file, image.merging(["DIRECTORY": "/var/lib/sluice"]) { $1 }) == [])
        #expect(try warnings(file, image, options: ["--data-dir": "/elsewhere"]) == [])
        #expect(try warnings(file, ["SLUICE_DATA_DIR": ""]) == [])
        #expect(try warnings(silent, image) == [])
    }

    @Test("The environment overrides the default destination of a file")
    func environmentOverDestination() throws {
        let configuration = try read(
            """
            destinations:
              one: { endpoint: cn-hangzhou.log.aliyuncs.com, project: proj-one, logstore: a1 }
              default: { endpoint: cn-hangzhou.log.aliyuncs.com, project: proj-two, logstore: a1 }
            """,
            testKeys.merging(["SLUICE_PROJECT": "proj-three"]) { $1 }
        )
        #expect(configuration.destinations.map(\.project) == ["proj-one", "proj-three"])
        #expect(configuration.defaultDestination.name == "default")
    }

    @Test("In a sandbox nothing needs to be given")
    func sandboxed() throws {
        let configuration = try GatewayConfiguration.read(.init(isSandboxed: true))
        #expect(configuration.defaultDestination.project == "sandbox")
        #expect(configuration.defaultDestination.logstore == .any)
        #expect(configuration.dataDirectory == "sluice-data")
    }

    @Test("Static credentials come from the file")
    func staticCredential() throws {
        let secret = directory.file("secret", "hush\n")
        let configuration = try read(
            minimal
                + "credentials: {default: {from: static, access_key_id: me, "
                + "access_key_secret: \"${file:\(secret)}\", security_token: sts}}\n",
            [:]
        )
        guard case .fixed(let credential) = configuration.credentials["default"] else {
            Issue.record("it is no static credential")
            return
        }
        #expect(credential.accessKeyID == "me")
        #expect(credential.secret.revealed == "hush")
        #expect(credential.securityToken?.revealed == "sts")
    }
}

@Suite struct ConfigurationReaderTests {
    private let directory = TemporaryDirectory()

    @Test("A file that is being edited concerns nobody before it is asked for anew")
    func edited() throws {
        let file = directory.file("sluice.yaml", minimal)
        let reader = ConfigurationReader(.init(file: file, environment: testKeys))
        let first = try reader.read([:], rereadsFile: true)
        _ = directory.file("sluice.yaml", minimal + "drain_timeout: 3s\n")
        #expect(try reader.read([:], rereadsFile: false) == first)
        #expect(try reader.read([:], rereadsFile: true).drainTimeout == .seconds(3))
        _ = directory.file("sluice.yaml", "nonsense: [")
        #expect(throws: ConfigurationProblems.self) { try reader.read([:], rereadsFile: true) }
        // What was refused is not what the gateway goes on with.
        #expect(try reader.read([:], rereadsFile: false).drainTimeout == .seconds(3))
    }

    @Test(
        "A pipe in the place of the file is refused at a change, and holds nobody",
        .timeLimit(.minutes(10))
    )
    func pipe() throws {
        let path = directory.file("sluice.yaml", "destinations: { a: { kind: stdout } }\n")
        let reader = ConfigurationReader(ConfigurationInputs(file: path))
        _ = try reader.read([:], rereadsFile: true)
        unlink(path)
        mkfifo(path, 0o600)
        #expect(throws: ConfigurationProblems.self) { try reader.read([:], rereadsFile: true) }
    }
}

@Suite struct SettingOriginsTests {
    @Test("Every setting in force tells where it was given, and secrets are not shown")
    func origins() throws {
        let directory = TemporaryDirectory()
        let token = "0123456789abcdef0123456789abcdef"
        let text = """
            queue:
              max_bytes: 2GiB
            admin: { token: \(token) }
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: p-roject, logstore: app, packet: { logs: 7 } }
            """
        let configuration = try GatewayConfiguration.read(
            .init(
                file: directory.file("sluice.yaml", text),
                options: ["--listen": "127.0.0.1:9"],
                environment: [
                    "ALIBABA_CLOUD_ACCESS_KEY_ID": "id",
                    "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "hidden",
                    "SLUICE_DATA_DIR": "/tmp/x",
                ]
            )
        )
        let settings = configuration.effective
        func origin(_ key: String) -> String? {
            settings.first { $0.key == key }.map { "\($0.origin)" }
        }
        #expect(origin("queue.max_bytes") == "file(line: 2)")
        #expect(origin("queue.max_age") == "standard")
        #expect(origin("listen") == #"option("--listen")"#)
        #expect(origin("data_dir") == #"environment("SLUICE_DATA_DIR")"#)
        #expect(origin("destinations.app.packet.logs") == "file(line: 5)")
        #expect(origin("destinations.app.packet.bytes") == "standard")
        let secret = try #require(settings.first { $0.key == "admin.token" })
        #expect(secret.isHidden && secret.value == nil)
        let shown = settings.compactMap(\.value).joined(separator: " ")
        #expect(!shown.contains(token) && !shown.contains("hidden"))
        #expect(shown.contains("2GiB"))
    }
}

@Suite struct ConfigurationSummaryTests {
    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAI-0123456789", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "hush",
    ]

    @Test("The summary says what was chosen, and shows no secret")
    func summary() throws {
        let configuration = try read(
            """
            destinations:
              app:
                endpoint: [cn-hangzhou.log.aliyuncs.com, log-global.aliyuncs.com]
                project: my-project
                logstore: app-log
                exactly_once: true
                proxy: http://me:hush@10.0.0.1:3128
                late_logs: dead_letter
                fold_tags: [device_id]
                max_bytes: 1GiB
                overflow: drop_oldest
                fresh_first: 20%
            """,
            keys
        )
        #expect(
            ConfigurationSummary.text(configuration) == """
                configuration is fine
                  devices      [::]:8080
                  admin        127.0.0.1:8081, with a token of its own making
                  queue        /var/lib/sluice, engine sqlite, up to 4GiB or 7d, durability full
                  destination  app (default): my-project/app-log at https://cn-hangzhou.log.aliyuncs.com, else https://log-global.aliyuncs.com, signature v4, key LTAI…6789
                               each log exactly once, 16 lanes for a logstore
                               through the proxy http://me:•••@10.0.0.1:3128
                               logs too old for SLS become dead letters
                               devices' tags device_id become fields of their logs
                               queued up to 1GiB, the oldest dropped when full, 20% for fresh logs
                  warning      the device listener [::]:8080 can be reached from other machines, and whoever reaches it may send logs; give devices keys (devices.keys), or listen on 127.0.0.1
                """
        )
    }

    @Test("Of what nobody chose nothing is said")
    func plain() throws {
        let quiet = minimal + "listen: 127.0.0.1:8080\n"
        #expect(ConfigurationSummary.text(try read(quiet)).split(separator: "\n").count == 5)
    }
}

@Suite struct SubstitutionTests {
    private let substitution = Substitution(environment: [
        "NAME": "app", "EMPTY": "", "LOOP": "${NAME}",
    ])

    @Test(
        "The environment stands in for references",
        arguments: [
            ("plain", "plain"), ("${NAME}", "app"), ("a-${NAME}-b", "a-app-b"),
            ("${NONE:-other}", "other"), ("${EMPTY:-other}", "other"), ("${EMPTY}", ""),
            ("$${NAME}", "${NAME}"), ("$5 and $", "$5 and $"), ("${LOOP}", "${NAME}"),
            ("${NONE:-}", ""),
        ]
    )
    func environment(text: String, expected: String) throws {
        #expect(try substitution.apply(to: text) == expected)
    }

    @Test(
        "A reference to nothing says what to do",
        arguments: [
            (
                "${NONE}",
                "the environment has no NONE; set it, or give a default as in ${NONE:-value}"
            ),
            ("${NAME", "${ is never closed; write $${ for the two characters themselves"),
            (
                "${a-b}",
                "what ${...} holds is not understood; write ${NAME}, ${NAME:-default} or ${file:/path}"
            ),
            ("${file:/none/x}", "${file:/none/x} cannot be read: No such file or directory"),
            ("${file:/}", "${file:/} cannot be read: Is a directory"),
        ]
    )
    func problems(text: String, reason: String) {
        #expect(throws: Mismatch(reason)) { try substitution.apply(to: text) }
    }

    @Test("A file gives its content without the newline that ends it")
    func file() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("secret", "s3cret\n")
        #expect(try substitution.apply(to: "${file:\(path)}") == "s3cret")
    }
}

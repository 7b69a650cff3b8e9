import Configuration
import Credentials
import Crypto
import HTTP
import Net
import Queue
import SLS
import System
import TestConfiguration
import TestSupport
import Testing

@Suite struct ConfigurationTests {
    @Test("A gateway to try out listens on this machine only, unless told otherwise")
    func sandboxedListener() throws {
        var inputs = ConfigurationInputs(isSandboxed: true)
        #expect(try GatewayConfiguration.read(inputs).listen.description == "127.0.0.1:8080")
        inputs.options = ["--listen": ":8080"]
        #expect(try GatewayConfiguration.read(inputs).listen.description == "[::]:8080")
    }

    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

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
            keys.merging(["TOKEN": String(repeating: "t", count: 32)]) { $1 }
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
                environment: keys.merging([
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
            let environment = keys.merging(simple) { $1 }.merging(more) { $1 }
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
        let directory = TemporaryDirectory()
        let file = directory.file("s.yaml", minimal + "listen: 127.0.0.1:1\nlog: {level: error}\n")
        func listen(_ options: [String: String], _ environment: [String: String]) throws -> String {
            try GatewayConfiguration.read(
                .init(
                    file: file,
                    options: options,
                    environment: keys.merging(environment) { $1 }
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
        let directory = TemporaryDirectory()
        let listen = "listen: 127.0.0.1:0\n"
        let file = directory.file("s.yaml", minimal + listen + "data_dir: ${DIRECTORY:-/data}\n")
        let silent = directory.file("t.yaml", minimal + listen)
        func warnings(
            _ file: String,
            _ environment: [String: String],
            options: [String: String] = [:]
        ) throws -> [String] {
            let all = keys.merging(environment) { $1 }
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
            keys.merging(["SLUICE_PROJECT": "proj-three"]) { $1 }
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
        let directory = TemporaryDirectory()
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

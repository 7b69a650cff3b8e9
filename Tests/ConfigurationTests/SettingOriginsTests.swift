import Configuration
import TestConfiguration
import TestSupport
import Testing

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

import Glibc
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

/// Destinations of kind file, and the files that they must not touch.
@Suite struct GuardedPathTests {
    private let directory = TemporaryDirectory()
    private let line = "{\"date\":\"2025-01-14T08:30:00Z\",\"tag\":\"\"}\n"

    /// What is wrong with a configuration whose destination writes to this path.
    private func problems(
        _ path: String,
        _ more: String = "",
        _ environment: [String: String] = [:],
        other: String? = nil
    ) -> [String] {
        let other = other.map { ", other: \($0)" } ?? ""
        let text = """
            data_dir: \(directory.path)/data
            destinations: { archive: { kind: file, path: \(path) }\(other) }
            \(more)
            """
        let inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            environment: environment
        )
        do throws(ConfigurationProblems) {
            _ = try GatewayConfiguration.read(inputs)
            return []
        } catch {
            return error.problems.map { "\($0.key) \($0.text)" }
        }
    }

    @Test("A path in data_dir is refused, also by a symbolic or a hard link")
    func dataDirectory() {
        mkdir("\(directory.path)/data", 0o755)
        symlink("data", "\(directory.path)/link")
        directory.file("data/queue.db", line)
        link("\(directory.path)/data/queue.db", "\(directory.path)/hard.db")
        for name in ["data/queue.db", "data/new.ndjson", "link/new.ndjson", "hard.db"] {
            #expect(
                problems("\(directory.path)/\(name)") == [
                    "destinations.archive.path is in data_dir, which logs would destroy; choose another path"
                ]
            )
        }
        #expect(problems("\(directory.path)/data.ndjson") == [])
    }

    @Test(
        "A file that the configuration or the environment uses elsewhere is refused",
        arguments: [
            "admin: { token: \"${file:FILE}\" }",
            "credentials: { other: { from: file, path: FILE } }",
            "credentials: { other: { from: file, path: \"${OTHER}\" } }",
            "resolvers: { ali: { kind: alibaba, account: \"1\", ca_file: FILE } }",
            "webhook: { url: \"http://127.0.0.1/\", authorization: \"${file:FILE}\" }",
        ]
    )
    func named(setting: String) {
        let file = directory.file("token", line)
        symlink(file, "\(directory.path)/link")
        link(file, "\(directory.path)/hard")
        let environment = ["OTHER": file]
        for name in ["token", "hard"] {
            let found = problems(
                "\(directory.path)/\(name)",
                setting.replacing("FILE", with: "\(directory.path)/link"),
                environment
            )
            let claim = "destinations.archive.path is a file that the configuration uses elsewhere"
            #expect(found.contains { $0.hasPrefix(claim) }, "\(found)")
        }
        #expect(!problems("\(directory.path)/sluice.yaml").isEmpty)
    }

    @Test("No destination writes to another one's file, by whatever path, or to its archives")
    func otherDestinations() {
        symlink(".", "\(directory.path)/link")
        let files = ["link/a.ndjson", "a.ndjson.20250114T083000Z.1", "a.ndjson.1"]
        let found = files.map { name in
            problems(
                "\(directory.path)/a.ndjson",
                "",
                [:],
                other: "{ kind: file, path: \(directory.path)/\(name) }"
            )
        }
        #expect(found[0].count == 1 && found[0][0].contains("as archive does"), "\(found)")
        #expect(
            found[1] == [
                "destinations.other.path has the form of an archive of archive, which would remove it; "
                    + "choose another path"
            ]
        )
        #expect(found[2] == [])
    }

    @Test("A path that comes from a variable is accepted again once its file is there")
    func variable() {
        let file = directory.file("logs.ndjson", line)
        let written = ["LOG_FILE": file]
        for _ in 0..<2 { #expect(problems("\"${LOG_FILE}\"", "", written) == []) }
        #expect(problems(file, "", written) == [])
        let other =
            "resolvers: { ali: { kind: alibaba, account: \"1\", ca_file: \"${LOG_FILE}\" } }"
        for (more, environment) in [
            (other, written), ("", ["SLUICE_ADMIN_TOKEN_FILE": file, "LOG_FILE": file]),
            ("", ["ALIBABA_CLOUD_OIDC_TOKEN_FILE": file, "LOG_FILE": file]),
        ] {
            let found = problems("\"${LOG_FILE}\"", more, environment)
            #expect(found.contains { $0.contains("uses elsewhere") }, "\(found)")
        }
    }

    @Test("No decision of an operator names a file, whatever the setting")
    func decided() throws {
        let file = directory.file("logs.ndjson", line)
        let text = "destinations: { archive: { kind: file, path: \(file) } }\n"
        let reader = ConfigurationReader(
            ConfigurationInputs(file: directory.file("sluice.yaml", text))
        )
        for key in ["path", "ca_file", "cert_file", "key_file"] {
            let decided = try DecidedSettings(json: Array("{\"\(key)\":\"/tmp/x\"}".utf8))
            let error = #expect(throws: ConfigurationProblems.self) {
                try reader.read(["archive": decided], rereadsFile: true)
            }
            #expect(
                error?.description.contains("names a file and cannot be changed by PATCH") == true,
                "\(error?.description ?? "")"
            )
        }
        // Each setting that is a path is among them.
        let paths = Destination.descriptions.filter { $0.wants.contains("path") }.map(\.key)
        #expect(Set(paths) == ["path", "ca_file", "cert_file", "key_file"])
        #expect(!SettingsReference.patchSchema.contains("_file\""))
    }
}

import Configuration
import Credentials
import Glibc
import HTTPClient
import SLS
import TestConfiguration
import TestSupport
import Testing

@Suite struct CredentialSourceTests {
    private func source(
        _ settings: String,
        _ environment: [String: String] = [:]
    ) throws -> CredentialSource? {
        let text = minimal + "credentials: {default: {\(settings)}}\n"
        return try read(text, environment).credentials["default"]
    }

    private let arn = "acs:ram::1234567890123456:role/log-writer"

    @Test("A role is read with all that STS is told")
    func assumeRole() throws {
        let text =
            "from: assume_role, role_arn: \(arn), session_name: gw-1, duration: 30m, external_id: x1, "
            + "sts_region: cn-hangzhou, sts_vpc: true, timeout: 4s"
        guard case .assumeRole(let role) = try source(text) else {
            Issue.record("it is no role")
            return
        }
        #expect(role.roleARN == arn && role.caller == .environment && role.seconds == 1800)
        #expect(role.sessionName == "gw-1" && role.externalID == "x1")
        #expect(role.access.region == "cn-hangzhou" && role.access.isVPC == true)
        #expect(role.access.limits.total == .seconds(4))
        let variable = ["ALIBABA_CLOUD_ROLE_ARN": arn]
        guard case .assumeRole(let other) = try source("from: assume_role", variable) else {
            Issue.record("it is no role")
            return
        }
        #expect(other.roleARN == arn && other.seconds == 3600)
    }

    @Test("Each other source is read as it is called")
    func others() throws {
        #expect(try source("from: admin") == .admin)
        #expect(try source("from: chain") == .chain)
        #expect(try source("from: oidc_role") == .oidcRole(OIDCRole()))
        #expect(try source("from: file, path: /run/key") == .file(FileSource(path: "/run/key")))
        guard case .ecsRole(let role) = try source("from: ecs_role, imds_v1: false") else {
            Issue.record("it is no role")
            return
        }
        #expect(role.isTokenRequired == true)
    }

    @Test("What nobody describes is the chain where the environment names no key but another way")
    func undescribed() throws {
        let oidc = ["ALIBABA_CLOUD_OIDC_TOKEN_FILE": "/var/run/token"]
        #expect(try read(minimal, oidc).credentials["default"] == .chain)
        let key = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        #expect(try read(minimal, key).credentials["default"] == .environment)
    }

    @Test(
        "What cannot be is told by its key",
        arguments: [
            ("from: assume_role", "role_arn: is missing"),
            ("from: assume_role, role_arn: me", "role_arn: is not like acs:ram"),
            (
                "from: assume_role, role_arn: \"ARN\", source: nobody",
                "nobody is no credential here"
            ),
            ("from: assume_role, role_arn: \"ARN\", source: default", "default is itself"),
            ("from: assume_role, role_arn: \"ARN\", duration: 5m", "duration: "),
            ("from: ecs_role, role_arn: x", "role_arn: unknown key"),
            ("from: admin, encryption_key: x", "encryption_key: unknown key"),
        ]
    )
    func wrong(settings: String, part: String) {
        let error = #expect(throws: ConfigurationProblems.self) {
            try source(settings.replacing("ARN", with: arn))
        }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test("An encryption key that is none is refused without showing it")
    func encryptionKey() throws {
        let error = #expect(throws: ConfigurationProblems.self) {
            try read(minimal + "credentials: {encryption_key: canary}\n", [:])
        }
        #expect(error?.description.contains("credentials.encryption_key: ") == true)
        #expect(error?.description.contains("canary") == false)
    }

    @Test("An encryption key that is empty is a mistake, not no key")
    func emptyEncryptionKey() throws {
        let error = #expect(throws: ConfigurationProblems.self) {
            try read(minimal + "credentials: {encryption_key: \"${KEY}\"}\n", ["KEY": ""])
        }
        #expect(error?.description.contains("credentials.encryption_key: is empty") == true)
    }

    @Test("Roles that ask for each other in a circle are refused, and only those in it")
    func circle() throws {
        func role(_ source: String) -> String {
            "{from: assume_role, role_arn: \"\(arn)\", source: \(source)}"
        }
        let error = #expect(throws: ConfigurationProblems.self) {
            try read(
                minimal + "credentials: {default: {from: admin}, a: \(role("b")), b: \(role("c")), "
                    + "c: \(role("a")), d: \(role("a"))}\n",
                [:]
            )
        }
        let text = error?.description ?? ""
        #expect(text.contains("a: it stands on itself: a, by b, by c, by a"), "\(text)")
        #expect(!text.contains("credentials.d"), "\(text)")
    }

    @Test("A secret from a pipe that nobody writes to does not hold up the start")
    func pipe() throws {
        let directory = TemporaryDirectory()
        let pipe = "\(directory.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let error = #expect(throws: ConfigurationProblems.self) {
            try read(minimal + "credentials: {encryption_key: \"${file:\(pipe)}\"}\n", [:])
        }
        #expect(error?.description.contains("not a regular file") == true)
    }
}

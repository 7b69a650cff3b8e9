import Crypto
import Foundation
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite struct SettingProblemTests {
    @Test("Settings that can be right have no problem")
    func fine() {
        var role = AssumeRole(roleARN: Samples.roleARN)
        role.sessionName = "gw-1@x.y_z"
        role.policy = #"{"Version":"1"}"#
        role.externalID = "partner"
        role.access = STSAccess(region: "cn-hangzhou", isVPC: true)
        var instance = ECSRole()
        instance.roleName = "Log-Writer_1.x"
        let sources: [CredentialSource] = [
            .environment, .admin, .chain, .file(FileSource()), .assumeRole(role),
            .oidcRole(OIDCRole()), .ecsRole(instance), .ecsRole(ECSRole()), .uri(URISource()),
            .uri(URISource(uri: Secret("http://127.0.0.1:8000/x"))),
        ]
        for source in sources { #expect(source.problems == []) }
    }

    @Test("All that cannot be right is told at once, by key")
    func wrong() {
        var role = AssumeRole(roleARN: "acs:ram::me:user/x")
        role.sessionName = "a b"
        role.seconds = 60
        role.policy = "allow"
        role.externalID = ""
        role.access = STSAccess(endpoint: "http://sts.aliyuncs.com")
        #expect(
            CredentialSource.assumeRole(role).problems.map(\.key) == [
                "role_arn", "session_name", "duration", "policy", "external_id", "sts_endpoint",
            ]
        )
        var pod = OIDCRole()
        pod.roleARN = "role"
        pod.access = STSAccess(region: "Cn Hangzhou")
        #expect(CredentialSource.oidcRole(pod).problems.map(\.key) == ["role_arn", "sts_region"])
        var instance = ECSRole()
        instance.roleName = "../x"
        #expect(CredentialSource.ecsRole(instance).problems.map(\.key) == ["role_name"])
        let uri = CredentialSource.uri(URISource(uri: Secret("ftp://canary")))
        #expect(uri.problems.map(\.key) == ["uri"])
        #expect(!uri.problems.contains { $0.what.contains("canary") })
    }
}

/// The operator's page says what the room does.
@Suite struct CredentialsDocumentTests {
    private let page: String = {
        (try? String(contentsOfFile: repositoryFile("docs/credentials.md"), encoding: .utf8)) ?? ""
    }()

    @Test("Every refusal of STS has its row, in the order of the code")
    func refusals() throws {
        let mark = try #require(page.firstRange(of: "compared with the code"))
        let rows = page[mark.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `") }
        let expected = STSRefusal.rows.map {
            "| `\($0.code)` | \($0.kind.rawValue) | \($0.remedy) |"
        }
        #expect(rows.prefix(expected.count).map(String.init) == expected)
    }

    @Test("Every state and every source has its row")
    func rows() {
        for state in CredentialStatus.State.allCases {
            #expect(page.contains("\n| `\(state.rawValue)` |"))
        }
        let sources: [CredentialSource] = [
            .environment, .file(FileSource()), .admin, .oidcRole(OIDCRole()),
            .ecsRole(ECSRole()), .uri(URISource()), .chain,
            .assumeRole(AssumeRole(roleARN: "")), .fixed(Samples.key),
        ]
        for source in sources { #expect(page.contains("\n| `\(source.kind)` |")) }
    }
}

/// What others write is read without trusting it: any cut and any broken byte ends in a value or in
/// none.
@Suite struct MutationTests {
    private static let texts = [
        Samples.stsAnswer(), Samples.metadataAnswer(), Samples.refusal("NoPermission"),
        "[default]\ntype = sts\naccess_key_id = a\r\n# c\n[x]\nsecurity_token=b=c\n",
        #"{"current":"a","profiles":[{"name":"a","mode":"AK","expired_seconds":3600,"x":[1,{}]}]}"#,
    ]

    @Test("Every cut and every broken byte is survived", arguments: texts)
    func broken(text: String) {
        let whole = Array(text.utf8)
        for index in whole.indices {
            read(Array(whole[..<index]))
            for byte in [0, 0x0A, 0x22, 0x5B, 0x5C, 0x5D, 0x7B, 0x7D, 0x3D, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = byte
                read(changed)
                changed.insert(byte, at: index)
                read(changed)
            }
        }
    }

    private func read(_ bytes: [UInt8]) {
        let document = CredentialDocument(json: bytes)
        // Half a credential is none.
        #expect(document?.credential == nil || document?.missing == [])
        _ = IniProfiles(bytes)
        _ = CLIProfiles(bytes)
    }

    @Test("Nesting and numbers without end are survived")
    func extremes() {
        let deep = Array(String(repeating: #"{"Credentials":"#, count: 5000).utf8)
        #expect(CredentialDocument(json: deep) == nil)
        let digits = String(repeating: "9", count: 5000)
        let number = Array(#"{"profiles":[{"name":"a","expired_seconds":\#(digits)}]}"#.utf8)
        #expect(CLIProfiles(number)?.profiles["a"]?["expired_seconds"] == nil)
        #expect(IniProfiles(Array(String(repeating: "a=\n", count: 20_000).utf8)) == nil)
    }
}

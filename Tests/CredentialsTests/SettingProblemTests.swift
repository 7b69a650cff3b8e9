import Crypto
import SLS
import System
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

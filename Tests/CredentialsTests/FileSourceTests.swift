import Crypto
import Glibc
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct FileSourceTests {
    private func fetch(
        _ text: String,
        profile: String? = nil,
        _ environment: [String: String] = [:],
        sts: String? = nil,
        metadata: String? = nil
    ) throws -> SuppliedCredential {
        let directory = TemporaryDirectory()
        directory.replace("file", text)
        return try Samples.fetch(
            .file(FileSource(path: "\(directory.path)/file", profile: profile)),
            Samples.surroundings(environment, sts: sts, metadata: metadata)
        )
    }

    private func problem(_ text: String, profile: String? = nil) throws -> SourceProblem? {
        do {
            _ = try fetch(text, profile: profile)
            return nil
        } catch {
            return error as? SourceProblem
        }
    }

    @Test(
        "JSON is read in every spelling that is in use",
        arguments: [
            "{\(Samples.members())}", Samples.stsAnswer(), Samples.metadataAnswer(),
            #"{"access_key_id":"STS.IssuedKeyId1","access_key_secret":"canary-issued-secret-1","#
                + #""security_token":"canary-issued-token-1","expiration":"2025-01-14T17:30:00.123+08:00"}"#,
        ]
    )
    func json(text: String) throws {
        let supplied = try fetch(text)
        #expect(supplied.credential == Samples.issued())
        #expect(supplied.expiration != nil)
        #expect(supplied.origin.hasPrefix("the file /"))
    }

    @Test("A plain key in JSON does not expire")
    func plainKey() throws {
        let supplied = try fetch(
            #"{"AccessKeyId":"id","AccessKeySecret":"s\u002fx","SecurityToken":"","Expiration":null}"#
        )
        #expect(supplied.credential == Credential(accessKeyID: "id", secret: Secret("s/x")))
        #expect(supplied.expiration == nil)
    }

    private let ini = """
        # comment
        [default]
        type = access_key
        access_key_id = LTAI5tCallerKeyId
        access_key_secret = \(Samples.secret)

        [sts]
        type = sts
        access_key_id=STS.CallerKeyId
        access_key_secret=\(Samples.secret)
        security_token=\(Samples.token)
        [role]
        type = ram_role_arn
        access_key_id = LTAI5tCallerKeyId
        access_key_secret = \(Samples.secret)
        role_arn = \(Samples.roleARN)
        role_session_name = gw-2
        role_session_expiration = 1200
        policy = {}
        [instance]
        type = ecs_ram_role
        role_name = log-writer
        [half]
        type = access_key
        access_key_id = LTAI
        [odd]
        type = rsa_key_pair
        """

    @Test("The ini file's profile is chosen by the setting, then by the environment")
    func iniKeys() throws {
        #expect(try fetch(ini).credential == Samples.key)
        #expect(try fetch(ini).origin.contains("profile 'default'"))
        #expect(try fetch(ini, profile: "sts").credential == Samples.temporary)
        let chosen = ["ALIBABA_CLOUD_PROFILE": "sts"]
        #expect(try fetch(ini, chosen).credential == Samples.temporary)
        #expect(try fetch(ini, profile: "default", chosen).credential == Samples.key)
    }

    @Test("A profile may stand for a role that is asked for")
    func iniRoles() throws {
        let server = try StandIn { request, _ in
            request.method == "POST"
                ? .json(200, Samples.stsAnswer(1))
                : .json(200, Samples.metadataAnswer(2))
        }
        defer { server.stop() }
        #expect(try fetch(ini, profile: "role", sts: server.url).credential == Samples.issued(1))
        let request = try #require(server.requests.now.first)
        #expect(request["RoleSessionName"] == "gw-2")
        #expect(request["DurationSeconds"] == "1200")
        #expect(request["Policy"] == "{}")
        #expect(request["AccessKeyId"] == "LTAI5tCallerKeyId")
        let supplied = try fetch(ini, profile: "instance", metadata: server.url)
        #expect(supplied.credential == Samples.issued(2))
    }

    private let cli = """
        {"current":"work","meta_path":"","profiles":[
          {"name":"default","mode":"AK","access_key_id":"id","access_key_secret":"s"},
          {"name":"work","mode":"AK","access_key_id":"LTAI5tCallerKeyId",
           "access_key_secret":"\(Samples.secret)","sts_token":"","retry_timeout":10,"site":null},
          {"name":"sts","mode":"StsToken","access_key_id":"STS.CallerKeyId",
           "access_key_secret":"\(Samples.secret)","sts_token":"\(Samples.token)"},
          {"name":"role","mode":"RamRoleArn","access_key_id":"LTAI5tCallerKeyId",
           "access_key_secret":"\(Samples.secret)","ram_role_arn":"\(Samples.roleARN)",
           "ram_session_name":"gw-3","expired_seconds":1500},
          {"name":"chained","mode":"ChainableRamRoleArn","source_profile":"sts",
           "ram_role_arn":"\(Samples.roleARN)","external_id":"x"},
          {"name":"round","mode":"ChainableRamRoleArn","source_profile":"round","ram_role_arn":"r"},
          {"name":"instance","mode":"EcsRamRole","ram_role_name":"log-writer"}]}
        """

    @Test("The command line tool's file is read, with its current profile")
    func cliKeys() throws {
        #expect(try fetch(cli).credential == Samples.key)
        #expect(try fetch(cli, profile: "sts").credential == Samples.temporary)
    }

    @Test("Its roles are asked for, also by another profile's key")
    func cliRoles() throws {
        let server = try StandIn { request, _ in
            request.method == "POST"
                ? .json(200, Samples.stsAnswer(1))
                : .json(200, Samples.metadataAnswer(2))
        }
        defer { server.stop() }
        _ = try fetch(cli, profile: "role", sts: server.url)
        _ = try fetch(cli, profile: "chained", sts: server.url)
        let requests = server.requests.now
        #expect(requests.map { $0["DurationSeconds"] } == ["1500", "3600"])
        #expect(requests.map { $0["SecurityToken"] } == [nil, Samples.token])
        #expect(requests.last?["ExternalId"] == "x")
        let supplied = try fetch(cli, profile: "instance", metadata: server.url)
        #expect(supplied.credential == Samples.issued(2))
        #expect(try problem(cli, profile: "round")?.kind == .permanent)
    }

    @Test("A token that was left behind in a profile for a plain key is not sent")
    func staleToken() throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let key = """
            "access_key_id":"LTAI5tCallerKeyId","access_key_secret":"\(Samples.secret)",
            "sts_token":"stale"
            """
        let cli = """
            {"current":"plain","profiles":[{"name":"plain","mode":"AK",\(key)},
              {"name":"role","mode":"RamRoleArn",\(key),"ram_role_arn":"\(Samples.roleARN)"}]}
            """
        #expect(try fetch(cli).credential == Samples.key)
        _ = try fetch(cli, profile: "role", sts: server.url)
        #expect(server.requests.now.map { $0["SecurityToken"] } == [nil])
        let ini = """
            [default]
            type = access_key
            access_key_id = LTAI5tCallerKeyId
            access_key_secret = \(Samples.secret)
            security_token = stale
            """
        #expect(try fetch(ini).credential == Samples.key)
        #expect(
            try fetch(ini.replacing("LTAI5t", with: "STS.")).credential.securityToken
                == Secret("stale"),
            "a temporary key is nothing without its token"
        )
    }

    @Test("A profile in the VPC asks STS there, whichever way it is written")
    func network() throws {
        let cli = """
            {"current":"a","profiles":[{"name":"a","mode":"RamRoleArn","access_key_id":"a",
             "access_key_secret":"b","ram_role_arn":"r","sts_region":"cn-x","enable_vpc":true},
             {"name":"b","mode":"OIDC","ram_role_arn":"r","sts_region":"cn-x","enable_vpc":false}]}
            """
        let profiles = try #require(CLIProfiles(Array(cli.utf8)))
        let access = profiles.profiles.mapValues { Profile(place: "p", settings: $0).access }
        #expect(access["a"]?.isVPC == true && access["a"]?.region == "cn-x")
        #expect(access["b"]?.isVPC == false)
        let ini = try #require(IniProfiles(Array("[a]\nenable_vpc = True\n[b]\nx = y".utf8)))
        let sections = ini.sections.mapValues { Profile(place: "p", settings: $0).access.isVPC }
        #expect(sections == ["a": true, "b": nil])
    }

    @Test(
        "Quotes around a value and a comment after it are no part of it",
        arguments: [
            (#""abc""#, "abc"), ("'abc'", "abc"), ("`abc`", "abc"), ("abc # prod", "abc"),
            ("abc ; prod", "abc"), (#""a # b" # c"#, "a # b"), ("abc#d", "abc#d"),
            ("a'b'", "a'b'"), (#""abc"#, #""abc"#), (#""a"b"#, #""a"b"#), ("", ""), ("# c", ""),
        ]
    )
    func values(written: String, meant: String) throws {
        let profiles = try #require(IniProfiles(Array("[a]\nkey = \(written)\n".utf8)))
        #expect(profiles.sections["a"]?["key"] == Secret(meant), "\(written)")
    }

    @Test("The last of many profiles is found as well")
    func many() throws {
        let profiles = (0..<200).map {
            #"{"name":"p\#($0)","mode":"AK","access_key_id":"LTAI\#($0)","access_key_secret":"s"}"#
        }
        let text = #"{"current":"p199","profiles":[\#(profiles.joined(separator: ","))]}"#
        #expect(try fetch(text).credential.accessKeyID == "LTAI199")
    }

    @Test(
        "Roles for pods and URIs are profiles, too",
        arguments: [
            (
                #"{"current":"a","profiles":[{"name":"a","mode":"OIDC","oidc_provider_arn":"p","#
                    + #""oidc_token_file":"FILE","ram_role_arn":"r-1","ram_session_name":"gw-4"}]}"#,
                "AssumeRoleWithOIDC"
            ),
            (
                "[default]\ntype = oidc_role_arn\noidc_provider_arn = p\noidc_token_file_path = FILE\n"
                    + "role_arn = r-1\nrole_session_name = gw-4\n",
                "AssumeRoleWithOIDC"
            ),
            (
                #"{"current":"a","profiles":[{"name":"a","mode":"CredentialsURI","#
                    + #""credentials_uri":"URL/c"}]}"#,
                nil
            ),
            ("[default]\ntype = credentials_uri\ncredentials_uri = URL/c\n", nil),
        ] as [(String, String?)]
    )
    func otherTypes(text: String, action: String?) throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let directory = TemporaryDirectory()
        directory.replace("token", "canary.header.signature")
        let whole = text.replacing("FILE", with: "\(directory.path)/token")
            .replacing("URL", with: server.url)
        #expect(try fetch(whole, sts: server.url).credential == Samples.issued())
        let request = try #require(server.requests.now.first)
        #expect(request["Action"] == action)
        if action != nil {
            #expect(request["RoleArn"] == "r-1" && request["RoleSessionName"] == "gw-4")
            #expect(request["OIDCToken"] == "canary.header.signature")
        } else {
            #expect(request.path == "/c")
        }
    }

    @Test("A temporary key without its token is half a credential, here as anywhere")
    func withoutToken() throws {
        let half = #"{"AccessKeyId":"STS.NxY","AccessKeySecret":"s"}"#
        #expect(try problem(half)?.what.contains("SecurityToken") == true)
    }

    @Test("What is no file is not waited for")
    func pipe() throws {
        let directory = TemporaryDirectory()
        #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
        let source = CredentialSource.file(FileSource(path: "\(directory.path)/pipe"))
        let problem = Samples.problem(source, Samples.surroundings())
        #expect(problem?.what.contains("regular file") == true)
    }

    @Test("A half-written file says so, and never what it holds")
    func halfWritten() throws {
        let whole = "{\(Samples.members())}"
        for end in whole.indices {
            let problem = try #require(try problem(String(whole[..<end])))
            #expect(problem.kind == .temporary)
            #expect(!"\(problem)".contains("canary") && !"\(problem)".contains("STS."))
        }
        let problem = try problem("[default]\naccess_key_id = a\naccess_key_sec")
        #expect(problem?.kind == .temporary)
    }

    @Test("What cannot be used is told with what helps")
    func problems() throws {
        #expect(try problem(ini, profile: "none")?.what.contains("'none'") == true)
        #expect(try problem(ini, profile: "half")?.what.contains("access_key_secret") == true)
        #expect(try problem(ini, profile: "odd")?.kind == .permanent)
        #expect(try problem("{}")?.what.contains("AccessKeyId") == true)
        #expect(try problem(String(repeating: "x", count: 70_000))?.what.contains("64 KiB") == true)
        let bad = #"{"AccessKeyId":"a","AccessKeySecret":"b","Expiration":"tomorrow"}"#
        #expect(try problem(bad)?.what.contains("Expiration") == true)
        let line = #"{"AccessKeyId":"a","AccessKeySecret":"canary\n"}"#
        #expect(try problem(line)?.what.contains("line break") == true)
        let missing = Samples.problem(.file(FileSource(path: "/nowhere/x")), Samples.surroundings())
        #expect(missing?.what.contains("No such file") == true)
        let folder = Samples.problem(.file(FileSource(path: "/tmp")), Samples.surroundings())
        #expect(folder?.what.contains("directory") == true)
    }
}

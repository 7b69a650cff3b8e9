import SLS
import System
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(2))) struct FileSourceTests {
    private func fetch(
        _ text: String,
        profile: String? = nil,
        _ environment: [String: String] = [:],
        sts: String? = nil,
        metadata: String? = nil
    ) throws -> SuppliedCredential {
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        directory.write("file", text)
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

import Crypto
import HTTP
import JSON
import Logs
import SLS
import System
import TestSupport
import Testing

@testable import Sandbox

/// Every way in which a write can be refused, and that nothing of it is stored then.
@Suite struct RefusalTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let code: String
        let change: @Sendable (inout TestWrite) -> Void

        init(
            _ name: String,
            _ status: Int,
            _ code: String,
            _ change: @escaping @Sendable (inout TestWrite) -> Void
        ) {
            testDescription = name
            self.status = status
            self.code = code
            self.change = change
        }
    }

    static let cases = [
        Case("no host", 400, "MissingHost") { $0.fields["host"] = .some(nil) },
        Case("a bare host", 400, "InvalidHost") { $0.fields["host"] = "localhost:9000" },
        Case("an address", 400, "InvalidHost") { $0.fields["host"] = "127.0.0.1:9000" },
        Case("an IPv6 address", 400, "InvalidHost") { $0.fields["host"] = "[::1]:9000" },
        Case("an impossible project", 404, "ProjectNotExist") { $0.fields["host"] = "A_B.x.com" },
        Case("an unknown project", 404, "ProjectNotExist") { $0.fields["host"] = "other.x.com" },
        Case("an unknown project by header", 404, "ProjectNotExist") {
            $0.fields["x-log-project"] = "other"
        },
        Case("an unknown logstore", 404, "LogStoreNotExist") {
            $0.path = "/logstores/other/shards/lb"
        },
        Case("no length", 411, "MissingContentLength") { $0.fields["content-length"] = .some(nil) },
        Case("no type", 400, "MissingContentType") { $0.fields["content-type"] = .some(nil) },
        Case("another type", 415, "InvalidContentType") {
            $0.fields["content-type"] = "application/json"
        },
        Case("no version", 400, "MissingAPIVersion") { $0.fields["x-log-apiversion"] = .some(nil) },
        Case("another version", 400, "InvalidAPIVersion") { $0.fields["x-log-apiversion"] = "1.0" },
        Case("no date", 400, "MissingDate") { $0.fields["date"] = .some(nil) },
        Case("an unreadable date", 400, "InvalidRequestTime") { $0.fields["date"] = "yesterday" },
        Case("an unreadable x-log-date", 400, "InvalidRequestTime") {
            $0.version = .v4
            $0.fields["x-log-date"] = "20250114T083000"
        },
        Case("no x-log-date", 400, "MissingDate") {
            $0.version = .v4
            $0.fields["x-log-date"] = .some(nil)
        },
        Case("a slow clock", 400, "RequestTimeExpired") {
            $0.time = WallTime(seconds: TestWrite.noon.seconds - 901)
        },
        Case("a fast clock", 400, "RequestTimeExpired") {
            $0.time = WallTime(seconds: TestWrite.noon.seconds + 901)
        },
        Case("a slow clock, v4", 400, "RequestTimeExpired") {
            $0.version = .v4
            $0.time = WallTime(seconds: TestWrite.noon.seconds - 901)
        },
        Case("no signature method", 400, "MissingSignatureMethod") {
            $0.fields["x-log-signaturemethod"] = .some(nil)
        },
        Case("another signature method", 400, "InvalidSignatureMethod") {
            $0.fields["x-log-signaturemethod"] = "hmac-md5"
        },
        Case("no MD5", 400, "MissingParameter") { $0.fields["content-md5"] = .some(nil) },
        Case("a wrong MD5", 400, "ParameterInvalid") {
            $0.fields["content-md5"] = "00000000000000000000000000000000"
        },
        Case("MD5 in base64", 400, "ParameterInvalid") {
            $0.fields["content-md5"] = Digest.base64(Digest.md5($0.body))
        },
        Case("no SHA-256", 400, "MissingParameter") {
            $0.version = .v4
            $0.fields["x-log-content-sha256"] = .some(nil)
        },
        Case("a wrong SHA-256", 400, "ParameterInvalid") {
            $0.version = .v4
            $0.fields["x-log-content-sha256"] = hex(Digest.sha256([]))
        },
        Case("another region", 400, "ParameterInvalid") {
            $0.version = .v4
            $0.fields["authorization"] =
                "SLS4-HMAC-SHA256 Credential=testkeyid/20250114/cn-beijing/sls/aliyun_v4_request,"
                + "Signature=00"
        },
        Case("another day", 400, "ParameterInvalid") {
            $0.version = .v4
            $0.fields["authorization"] =
                "SLS4-HMAC-SHA256 Credential=testkeyid/20250113/cn-hangzhou/sls/aliyun_v4_request,"
                + "Signature=00"
        },
        Case("no authorization", 400, "MissAccessKeyId") {
            $0.fields["authorization"] = .some(nil)
        },
        Case("another scheme", 400, "ParameterInvalid") {
            $0.fields["authorization"] = "Basic a:b"
        },
        Case("no id", 400, "ParameterInvalid") { $0.fields["authorization"] = "LOG :abc" },
        Case("an unknown key", 401, "Unauthorized") {
            $0.credential = Credential(accessKeyID: "who", secret: Secret("knows"))
        },
        Case("a wrong secret", 401, "SignatureNotMatch") {
            $0.credential = Credential(accessKeyID: "testkeyid", secret: Secret("wrong"))
        },
        Case("a wrong secret, v4", 401, "SignatureNotMatch") {
            $0.version = .v4
            $0.credential = Credential(accessKeyID: "testkeyid", secret: Secret("wrong"))
        },
        Case("a missing token", 401, "Unauthorized") {
            $0.credential = TestWrite.stsKey
            $0.fields["x-acs-security-token"] = .some(nil)
        },
        Case("a wrong token", 401, "Unauthorized") {
            $0.credential = TestWrite.stsKey
            $0.fields["x-acs-security-token"] = "another"
        },
        Case("a token where none is", 401, "Unauthorized") {
            $0.fields["x-acs-security-token"] = "test/sts+token=="
        },
        Case("no raw size", 400, "MissingBodyRawSize") {
            $0.fields["x-log-bodyrawsize"] = .some(nil)
        },
        Case("a raw size that is none", 400, "InvalidBodyRawSize") {
            $0.fields["x-log-bodyrawsize"] = "-1"
        },
        Case("a wrong raw size", 400, "ParameterInvalid") { $0.fields["x-log-bodyrawsize"] = "15" },
        Case("an unknown compression", 400, "InvalidCompressType") {
            $0.fields["x-log-compresstype"] = "gzip"
        },
        Case("a large body", 413, "PostBodyTooLarge") {
            $0.fields["x-log-bodyrawsize"] = "10485761"
        },
        Case("an empty body", 400, "PostBodyInvalid") { $0.raw = [] },
        Case("not protobuf", 400, "PostBodyInvalid") { $0.raw = Array("hello".utf8) },
        Case("not UTF-8", 400, "InvalidEncoding") {
            $0.raw = TestGroup().bytes + TestGroup.chunk(0x1A, [0xFF])
        },
        Case("a reserved key", 400, "InvalidKey") {
            $0.raw = TestGroup(logs: [.init(fields: [("__time__", "1")])]).bytes
        },
        Case("one old log", 400, "PostBodyInvalid") {
            $0.raw = TestGroup(logs: [.init(), .init(time: 1)]).bytes
        },
        Case("no hash key", 400, "MissingParameter") {
            $0.path = "/logstores/app-log/shards/route"
        },
        Case("a short hash key", 400, "ParameterInvalid") {
            $0.path = "/logstores/app-log/shards/route"
            $0.query = "key=8a00"
        },
        Case("a sequence id that is none", 400, "ParameterInvalid") {
            $0.path = "/logstores/app-log/shards/route"
            $0.query = "key=8a000000000000000000000000000000&seqid=x"
        },
        Case("a broken query", 400, "ParameterInvalid") { $0.query = "key=%8" },
        Case("another verb", 405, "InvalidMethod") { $0.method = "PUT" },
        Case("no such path", 404, "InvalidPath") { $0.path = "/logstores/app-log/shards" },
    ]

    @Test("A wrong write is refused with SLS's own error", arguments: cases)
    func refused(_ wrong: Case) throws {
        let sandbox = try Sandbox.forTests {
            $0.projects = ["demo-project"]
            $0.logstores = ["app-log"]
            $0.region = "cn-hangzhou"
        }
        var write = TestWrite()
        wrong.change(&write)
        let answer: (status: Int, code: String?, id: String?)
        do {
            let response = try sandbox.put(write)
            answer = (response.status, response.errorCode, response.field("x-log-requestid"))
        } catch let refusal as SLSRefusal {
            // What cannot even be taken for a request is refused in the same way.
            let response = sandbox.refuse(refusal)
            answer = (response.status, response.errorCode, response.field("x-log-requestid"))
        }
        #expect(answer.status == wrong.status)
        #expect(answer.code == wrong.code)
        let id = try #require(answer.id)
        #expect(id.utf8.count == 24 && id.allSatisfy { $0.isHexDigit && !$0.isLowercase })
        #expect(try sandbox.control("GET", "/logs").body.isEmpty)
        let stats = try #require(try sandbox.control("GET", "/stats").json)
        #expect(stats["errors"]?[wrong.code]?.wholeNumber == 1)
        #expect(stats["stored"]?["requests"]?.wholeNumber == 0)
    }

    @Test
    func `An expired security token is refused as SLS words it`() throws {
        let sandbox = try Sandbox.forTests()
        let response = try sandbox.control(
            "POST",
            "/keys",
            #"""
            {"access_key_id":"STS.x","access_key_secret":"s","security_token":"t","expires_in_s":0}
            """#
        )
        #expect(response.status == 200)
        var write = TestWrite()
        write.credential = Credential(
            accessKeyID: "STS.x",
            secret: Secret("s"),
            securityToken: Secret("t")
        )
        let refused = try sandbox.put(write)
        #expect(refused.status == 401)
        #expect(refused.errorCode == "Unauthorized")
        #expect(refused.json?["errorMessage"]?.text?.contains("has expired") == true)
    }

    @Test(
        "A body that does not inflate to its announced size is refused",
        arguments: [ContentCoding.lz4, .deflate, .zstd],
        [-1, 1]
    )
    func inexactSize(_ coding: ContentCoding, _ difference: Int) throws {
        let sandbox = try Sandbox.forTests()
        var write = TestWrite()
        write.raw = TestGroup(logs: .init(repeating: .init(), count: 50)).bytes
        write.compression = coding
        #expect(try sandbox.put(write).status == 200)
        write.fields["x-log-bodyrawsize"] = "\(write.raw.count + difference)"
        let response = try sandbox.put(write)
        #expect(response.status == 400)
        #expect(response.errorCode == "PostBodyUncompressError")
    }

    @Test("Damaged compression is refused", arguments: [ContentCoding.lz4, .deflate, .zstd])
    func damaged(_ coding: ContentCoding) throws {
        let sandbox = try Sandbox.forTests()
        var write = TestWrite()
        write.raw = TestGroup(logs: .init(repeating: .init(), count: 50)).bytes
        write.compression = coding
        let whole = write.body
        for wire in [
            Array(whole.dropLast()), whole + [0x00], [0x04, 0x22, 0x4D, 0x18] + whole, [],
        ] {
            write.wire = wire
            #expect(try sandbox.put(write).errorCode == "PostBodyUncompressError")
        }
    }
}

import Crypto
import System
import Testing

@testable import SLS

@Suite struct SignatureV4Tests {
    @Test("The key is derived from date, region and service")
    func keyChain() {
        let chain = SignatureV4.keyChain(
            secret: Secret("testkeysecret"),
            day: "20250114",
            region: "cn-hangzhou"
        )
        #expect(
            chain.map { hex($0) } == [
                "9db6d6ea2707be4797869f919777a4af81d5506c0318452baf70ff3cadd1a037",
                "8f575a63fdbcd809dd3c8d57610628d09417b0e2c62a8aa16a7a0c4fdd73e4f5",
                "3c5f1e7d6e092944acc2e943fd642e39a900f9e6a6cf6cc37721a7d74d6a3393",
                "486c4624905171e1ae40f61378d44ef9f2af6fd106cf0dc80f2ba9563fdf4fc9",
            ]
        )
    }

    @Test("The canonical request of a compressed packet")
    func canonicalRequest() {
        let request = Vectors.put(.balanced, .lz4)
            .signed(by: Vectors.credential, Vectors.v4, body: [Vectors.lz4[...]], at: Vectors.time)
        let hash = "6b82e14c100e5cf6cf89ae1cb9df3f15f3d6e30d5f239a05474105544f0993d6"
        let canonical = SignatureV4.canonicalRequest(request, bodyHash: hash)
        #expect(
            canonical
                == "POST\n/logstores/app-log/shards/lb\n\n"
                + "content-type:application/x-protobuf\n"
                + "host:demo-project.cn-hangzhou.log.aliyuncs.com\n"
                + "x-log-apiversion:0.6.0\nx-log-bodyrawsize:132\nx-log-compresstype:lz4\n"
                + "x-log-content-sha256:\(hash)\nx-log-date:20250114T083000Z\n\n"
                + "content-type;host;x-log-apiversion;x-log-bodyrawsize;x-log-compresstype;"
                + "x-log-content-sha256;x-log-date\n\(hash)"
        )
    }

    struct Vector: CustomTestStringConvertible {
        let testDescription: String
        let request: SLSRequest
        let body: [UInt8]
        var credential = Vectors.credential
        let canonicalHash: String
        let signature: String
    }

    static let vectors = [
        Vector(
            testDescription: "any shard",
            request: Vectors.put(.balanced, .lz4),
            body: Vectors.lz4,
            canonicalHash: "2127600b94b74106ab8780a4e41f39203467fe2e4edf0b0ab8f4aca41b87ffe5",
            signature: "c13326b57302998958d48a8bf8beae586128c540f14f508b9881b55184bb3ccb"
        ),
        Vector(
            testDescription: "one shard, with a sequence number",
            request: Vectors.put(Vectors.route, .none),
            body: Vectors.raw,
            canonicalHash: "3fc622632384fa4b45d460c4585bb26d73c304c9e2b34c08e4f7239f3e8e2dac",
            signature: "f30bdf246ff7ecf4d35db22876f1fc931edaf16473506435ae4ee951820a6db0"
        ),
        Vector(
            testDescription: "a security token",
            request: Vectors.put(.balanced, .lz4),
            body: Vectors.lz4,
            credential: Vectors.temporary,
            canonicalHash: "1c1cdae23cca5bac6b860fd7a00a387b9cfeafdde2d8029b9c5c2635da5c334c",
            signature: "ee34efa8e0c9eeb920d14ec7225f78e968d84f7e1fa7a28d7e6a74345f5d2db9"
        ),
        Vector(
            testDescription: "no body, and a query",
            request: Vectors.get(query: [("size", "100"), ("type", ""), ("offset", "0")]),
            body: [],
            canonicalHash: "bf81552652d0fd0ebd8d82e9857b70cb5fe4990c315c21ba047a2805b8db1160",
            signature: "e9bf5f84ba73fb24105fe12f82e09d47b03f3b33c663745b16a4eeaf10bcbc5f"
        ),
    ]

    @Test("Requests are signed as SLS's Python SDK does", arguments: vectors)
    func sign(vector: Vector) {
        let request = vector.request
            .signed(by: vector.credential, Vectors.v4, body: [vector.body[...]], at: Vectors.time)
        let hash = request.header("x-log-content-sha256")
        #expect(
            Digest.sha256Hex(SignatureV4.canonicalRequest(request, bodyHash: hash))
                == vector.canonicalHash
        )
        #expect(
            request.header("authorization")
                == "SLS4-HMAC-SHA256 Credential=\(vector.credential.accessKeyID)"
                + "/20250114/cn-hangzhou/sls/aliyun_v4_request,Signature=\(vector.signature)"
        )
    }

    @Test("Query values are encoded, names are not")
    func query() {
        let request = Vectors.get(query: [("offset", "0"), ("size", "100"), ("type", "")])
        #expect(
            SignatureV4.canonicalRequest(request, bodyHash: "")
                .contains("\nlogstoreName=a%20b%2Fc~%2A%2B&offset=0&size=100&type\n")
        )
    }

    @Test("Percent-encoding keeps the unreserved characters only")
    func percentEncoding() {
        #expect(
            percentEncoded(#"123abc!@#$%^&*()-=_+ ~|\/"#)
                == "123abc%21%40%23%24%25%5E%26%2A%28%29-%3D_%2B%20~%7C%5C%2F"
        )
        #expect(percentEncoded("世") == "%E4%B8%96")
    }
}

/// The vectors that the SDKs for Go, Java and Python share: headers that are not signed, names with
/// spaces, queries with an empty name.
@Suite struct SignatureV4SDKTests {
    static let headers = [
        SLSRequest.Field("hello", "world"), .init("hello-Text", "a12X- "), .init(" Ko ", ""),
        .init("x-log-test", "het123"), .init("x-acs-ppp", "dds"),
    ]
    static let query = [
        SLSRequest.Field(" abc", "efg"), .init(" agc ", ""), .init("", "efg"), .init("A-bc", "eFg"),
    ]
    static let slashes = [
        SLSRequest.Field("abs-ij*asd/vc", "a~js+d ada"),
        .init("a abAas123/vc", "a~jdad a2ADFs+d ada"),
    ]
    static let body = Array("adasd= -asd zcas".utf8)

    struct Vector: CustomTestStringConvertible {
        let testDescription: String
        var method = "POST"
        var path = "/logstores"
        var region = "cn-hangzhou"
        var headers = SignatureV4SDKTests.headers
        var query = SignatureV4SDKTests.query
        var body = SignatureV4SDKTests.body
        let signature: String
    }

    static let vectors = [
        Vector(
            testDescription: "everything",
            signature: "a98f5632e93836e63839cd836a54055f480020a9364ca944e2d34f2eb9bf1bed"
        ),
        Vector(
            testDescription: "no headers, no query",
            region: "cn-shanghai",
            headers: [],
            query: [],
            signature: "8a10a5e723cb2e75964816de660b2c16a58af8bc0261f7f0722d832468c76ce8"
        ),
        Vector(
            testDescription: "no body",
            body: [],
            signature: "5a66d8f8051983e0e9d08e0f960ef9252ef971eead5bb5c7acec8617a2eb2701"
        ),
        Vector(
            testDescription: "GET",
            method: "GET",
            body: [],
            signature: "d92741852500791d662a8d469ff61627c0559ecd86c3f59b7bf6772b6c62666a"
        ),
        Vector(
            testDescription: "slashes in the query",
            path: "/logstores/hello/a+*~bb/cc",
            query: query + slashes,
            signature: "2c204068e961a8813a6bcf7ac422f7fa6e9bf9a5da493e0165dfe100854d18ff"
        ),
    ]

    @Test("Odd requests are signed as the SDKs do", arguments: vectors)
    func sign(vector: Vector) {
        let hash = Digest.sha256Hex(vector.body)
        let request = SLSRequest(
            method: vector.method,
            path: vector.path,
            query: vector.query,
            headers: vector.headers + [
                .init("x-log-date", "20220808T032330Z"), .init("x-log-content-sha256", hash),
            ]
        )
        let value = SignatureV4.authorization(
            of: request,
            bodyHash: hash,
            by: Credential(accessKeyID: "acsddda21dsd", secret: Secret("zxasdasdasw2")),
            region: vector.region
        )
        #expect(
            value
                == "SLS4-HMAC-SHA256 Credential=acsddda21dsd/20220808/\(vector.region)"
                + "/sls/aliyun_v4_request,Signature=\(vector.signature)"
        )
    }
}

@Suite struct SignatureV1Tests {
    static let date = "Tue, 14 Jan 2025 08:30:00 GMT"

    @Test("A compressed packet for any shard")
    func balanced() {
        let request = Vectors.put(.balanced, .lz4)
            .signed(by: Vectors.credential, .v1, body: [Vectors.lz4[...]], at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "POST\n63C4837D54D1D1F05B7A20C2A9AB7ACD\napplication/x-protobuf\n\(Self.date)\n"
                + "x-log-apiversion:0.6.0\nx-log-bodyrawsize:132\nx-log-compresstype:lz4\n"
                + "x-log-signaturemethod:hmac-sha1\n/logstores/app-log/shards/lb"
        )
        #expect(request.header("authorization") == "LOG testkeyid:2yTgKhHWhsbXcqM6GdKecUkWKZc=")
    }

    @Test("A plain packet for one shard, with a sequence number")
    func routed() {
        let request = Vectors.put(Vectors.route, .none)
            .signed(by: Vectors.credential, .v1, body: [Vectors.raw[...]], at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "POST\n47651B3A52D197A22E9A41A8A8EA5C75\napplication/x-protobuf\n\(Self.date)\n"
                + "x-log-apiversion:0.6.0\nx-log-bodyrawsize:132\nx-log-signaturemethod:hmac-sha1\n"
                + "/logstores/app-log/shards/route?key=8a000000000000000000000000000000&seqid=7"
        )
        #expect(request.header("authorization") == "LOG testkeyid:yRcESafkhWd2iPNc1hECix+/mBA=")
    }

    @Test("A security token is signed before all other headers")
    func securityToken() {
        let request = Vectors.put(.balanced, .lz4)
            .signed(by: Vectors.temporary, .v1, body: [Vectors.lz4[...]], at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                .contains("GMT\nx-acs-security-token:test/sts+token==\nx-log-apiversion")
        )
        #expect(
            request.header("authorization") == "LOG STS.testkeyid:sDPGtvdEE3V2QFShkhMBZ+kq0RY="
        )
    }

    @Test("A request without a body signs its query decoded")
    func get() {
        let request = Vectors.get(query: [("size", "100"), ("offset", "0")])
            .signed(by: Vectors.credential, .v1, body: [], at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "GET\n\n\n\(Self.date)\nx-log-apiversion:0.6.0\nx-log-bodyrawsize:0\n"
                + "x-log-signaturemethod:hmac-sha1\n"
                + "/logstores?logstoreName=a b/c~*+&offset=0&size=100"
        )
        #expect(request.header("authorization") == "LOG testkeyid:yn+yOiBCjtsRjlQaTlE+UQwNVoI=")
    }

    @Test(
        "The vectors of SLS's Go SDK",
        arguments: [
            ("/logstores", [], "0", "Rwm6cTKzoti4HWoe+GKcb6Kv07E="),
            ("/logstores/app_log", Vectors.sdk, "50", "87xQWqFaOSewqRIma8kPjGYlXHc="),
        ]
    )
    func sdk(path: String, body: [UInt8], rawBytes: String, signature: String) {
        var request = SLSRequest(method: "GET", path: path)
        request.headers = [
            .init("x-log-apiversion", "0.6.0"),
            .init("x-log-signaturemethod", "hmac-sha1"),
            .init("x-log-bodyrawsize", rawBytes),
            .init("Date", "Mon, 3 Jan 2010 08:33:47 GMT"),
        ]
        if !body.isEmpty {
            request.headers.append(.init("Content-Type", "application/x-protobuf"))
            request.headers.append(.init("Content-MD5", Digest.md5Hex([body[...]])))
        }
        let credential = Credential(
            accessKeyID: "mockAccessKeyID",
            secret: Secret("mockAccessKeySecret")
        )
        #expect(
            SignatureV1.authorization(of: request, by: credential)
                == "LOG mockAccessKeyID:\(signature)"
        )
    }
}

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
            .signed(by: Vectors.credential, Vectors.v4, body: Vectors.lz4, at: Vectors.time)
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
            .signed(by: vector.credential, Vectors.v4, body: vector.body, at: Vectors.time)
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

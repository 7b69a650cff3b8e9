import Crypto
import SLS
import System
import Testing

@testable import Sandbox

/// The vectors that the official SDKs produced, replayed against the verifier.
@Suite struct SignatureVectorTests {
    typealias Fields = [(name: String, value: String)]

    static let noonText = "Tue, 14 Jan 2025 08:30:00 GMT"
    static let route = "key=8a000000000000000000000000000000&seqid=7"

    struct Vector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = "POST"
        var path = "/logstores/app-log/shards/lb"
        var query: String?
        var body: [UInt8] = []
        let fields: Fields
    }

    /// A request that is signed as its name says.
    static func signed(
        _ name: String,
        _ signature: String,
        method: String = "POST",
        path: String = "/logstores/app-log/shards/lb",
        query: String? = nil,
        body: [UInt8],
        more: Fields = [],
        id: String = "testkeyid"
    ) -> Vector {
        let signed = name.hasPrefix("V1") ? v1(signature, body, id) : v4(signature, body, id)
        return Vector(
            testDescription: name,
            method: method,
            path: path,
            query: query,
            body: body,
            fields: signed + more
        )
    }

    private static func v1(
        _ signature: String,
        _ body: [UInt8],
        _ id: String
    ) -> Fields {
        let fields: Fields = [
            ("Date", noonText), ("x-log-apiversion", "0.6.0"),
            ("X-Log-BodyRawSize", body.isEmpty ? "0" : "132"),
            ("x-log-signaturemethod", "hmac-sha1"), ("User-Agent", "test"),
            ("Authorization", "LOG \(id):\(signature)"),
        ]
        guard !body.isEmpty else { return fields }
        let digest = hex(Digest.md5(body), upper: true)
        return fields + [("Content-Type", "application/x-protobuf"), ("Content-MD5", digest)]
    }

    private static func v4(
        _ signature: String,
        _ body: [UInt8],
        _ id: String
    ) -> Fields {
        let scope = "\(id)/20250114/cn-hangzhou/sls/aliyun_v4_request"
        let fields: Fields = [
            ("Host", "demo-project.cn-hangzhou.log.aliyuncs.com"),
            ("x-log-apiversion", "0.6.0"), ("x-log-bodyrawsize", body.isEmpty ? "0" : "132"),
            ("x-log-content-sha256", hex(Digest.sha256(body))), ("x-log-date", "20250114T083000Z"),
            ("Authorization", "SLS4-HMAC-SHA256 Credential=\(scope),Signature=\(signature)"),
        ]
        return body.isEmpty ? fields : fields + [("Content-Type", "application/x-protobuf")]
    }

    static let token: Fields = [("x-acs-security-token", "test/sts+token==")]
    static let lz4: Fields = [("x-log-compresstype", "lz4")]
    static let list = "logstoreName=a%20b%2Fc~%2A%2B&offset=0&size=100"

    static let vectors = [
        signed("V1-A", "2yTgKhHWhsbXcqM6GdKecUkWKZc=", body: Vectors.lz4, more: lz4),
        signed(
            "V1-B",
            "yRcESafkhWd2iPNc1hECix+/mBA=",
            path: "/logstores/app-log/shards/route",
            query: route,
            body: Vectors.raw
        ),
        signed(
            "V1-STS",
            "sDPGtvdEE3V2QFShkhMBZ+kq0RY=",
            body: Vectors.lz4,
            more: lz4 + token,
            id: "STS.testkeyid"
        ),
        signed(
            "V1-GET",
            "yn+yOiBCjtsRjlQaTlE+UQwNVoI=",
            method: "GET",
            path: "/logstores",
            query: list,
            body: []
        ),
        signed(
            "V1-GET as forms encode",
            "yn+yOiBCjtsRjlQaTlE+UQwNVoI=",
            method: "GET",
            path: "/logstores",
            query: "size=100&offset=0&logstoreName=a+b%2fc~%2A%2b",
            body: []
        ),
        signed(
            "V4-A",
            "c13326b57302998958d48a8bf8beae586128c540f14f508b9881b55184bb3ccb",
            body: Vectors.lz4,
            more: lz4
        ),
        signed(
            "V4-B",
            "f30bdf246ff7ecf4d35db22876f1fc931edaf16473506435ae4ee951820a6db0",
            path: "/logstores/app-log/shards/route",
            query: route,
            body: Vectors.raw
        ),
        signed(
            "V4-STS",
            "ee34efa8e0c9eeb920d14ec7225f78e968d84f7e1fa7a28d7e6a74345f5d2db9",
            body: Vectors.lz4,
            more: lz4 + token,
            id: "STS.testkeyid"
        ),
        signed(
            "V4-GET",
            "e9bf5f84ba73fb24105fe12f82e09d47b03f3b33c663745b16a4eeaf10bcbc5f",
            method: "GET",
            path: "/logstores",
            query: list + "&type",
            body: []
        ),
        signed(
            "V4-GET with an empty value",
            "e9bf5f84ba73fb24105fe12f82e09d47b03f3b33c663745b16a4eeaf10bcbc5f",
            method: "GET",
            path: "/logstores",
            query: "type=&" + list,
            body: []
        ),
    ]

    @Test("What the official SDKs sign is accepted", arguments: vectors)
    func vector(_ vector: Vector) throws {
        var request = try ReceivedRequest(
            method: vector.method,
            path: vector.path,
            query: vector.query,
            fields: vector.fields
        )
        let keys = KeyRing([TestWrite.key, TestWrite.stsKey], capacity: 2)
        try vector.body.withUnsafeBytes { body in
            request.body = body
            let check = SignatureCheck(
                request: request,
                now: TestWrite.noon,
                skewMax: .seconds(900),
                region: nil
            )
            try check.pass(keys)
        }
    }

    @Test
    func `The canonical v4 request of V4-A is SLS's`() throws {
        let vector = Self.vectors.first { $0.testDescription == "V4-A" }
        let request = try ReceivedRequest(
            method: "POST",
            path: "/logstores/app-log/shards/lb",
            query: nil,
            fields: try #require(vector).fields
        )
        let text = request.canonicalV4(bodyDigest: hex(Digest.sha256(Vectors.lz4)))
        #expect(
            hex(Digest.sha256(Array(text.utf8)))
                == "2127600b94b74106ab8780a4e41f39203467fe2e4edf0b0ab8f4aca41b87ffe5"
        )
    }

    @Test
    func `The vectors in Go's tests for v1 are matched`() throws {
        try check("/logstores", "0", nil, "Rwm6cTKzoti4HWoe+GKcb6Kv07E=")
        try check(
            "/logstores/app_log",
            "50",
            "application/x-protobuf",
            "87xQWqFaOSewqRIma8kPjGYlXHc="
        )
    }

    private func check(
        _ path: String,
        _ size: String,
        _ type: String?,
        _ signature: String
    ) throws {
        var fields: Fields = [
            ("Date", "Mon, 3 Jan 2010 08:33:47 GMT"), ("x-log-apiversion", "0.6.0"),
            ("x-log-signaturemethod", "hmac-sha1"), ("x-log-bodyrawsize", size),
        ]
        if let type {
            fields.append(("Content-Type", type))
            fields.append(("Content-MD5", hex(Digest.md5(Vectors.goBody), upper: true)))
        }
        let request = try ReceivedRequest(method: "GET", path: path, query: nil, fields: fields)
        #expect(request.signatureV1(secret: Secret("mockAccessKeySecret")) == signature)
    }

    static let publishedFields = [("x-log-test", "het123"), ("x-acs-ppp", "dds")]
    static let publishedQuery = "%20abc=efg&%20agc%20=&=efg&A-bc=eFg"

    struct Published: Sendable {
        var method = "POST"
        var path = "/logstores"
        var region = "cn-hangzhou"
        var hasDefaults = true
        var body = "adasd= -asd zcas"
        var moreQuery = ""
        let signature: String
    }

    @Test(
        "The vectors that Go, Java and Python share for v4 are matched",
        arguments: [
            Published(
                signature: "a98f5632e93836e63839cd836a54055f480020a9364ca944e2d34f2eb9bf1bed"
            ),
            Published(
                region: "cn-shanghai",
                hasDefaults: false,
                signature: "8a10a5e723cb2e75964816de660b2c16a58af8bc0261f7f0722d832468c76ce8"
            ),
            Published(
                body: "",
                signature: "5a66d8f8051983e0e9d08e0f960ef9252ef971eead5bb5c7acec8617a2eb2701"
            ),
            Published(
                method: "GET",
                body: "",
                signature: "d92741852500791d662a8d469ff61627c0559ecd86c3f59b7bf6772b6c62666a"
            ),
            Published(
                path: "/logstores/hello/a+*~bb/cc",
                moreQuery:
                    "&abs-ij*asd/vc=a~js%2Bd%20ada&a%20abAas123/vc=a~jdad%20a2ADFs%2Bd%20ada",
                signature: "2c204068e961a8813a6bcf7ac422f7fa6e9bf9a5da493e0165dfe100854d18ff"
            ),
        ]
    )
    func published(_ vector: Published) throws {
        let digest = hex(Digest.sha256(Array(vector.body.utf8)))
        var fields: Fields = [
            ("x-log-date", "20220808T032330Z"), ("x-log-content-sha256", digest),
        ]
        if vector.hasDefaults { fields += Self.publishedFields }
        let request = try ReceivedRequest(
            method: vector.method,
            path: vector.path,
            query: vector.hasDefaults ? Self.publishedQuery + vector.moreQuery : nil,
            fields: fields
        )
        let computed = request.signatureV4(
            secret: Secret("zxasdasdasw2"),
            region: vector.region,
            bodyDigest: digest
        )
        #expect(computed == vector.signature)
    }

    @Test
    func `Values are percent-encoded as SLS does`() {
        #expect(
            percentEncoded("123abc!@#$%^&*()-=_+ ~|\\/")
                == "123abc%21%40%23%24%25%5E%26%2A%28%29-%3D_%2B%20~%7C%5C%2F"
        )
    }
}

import Crypto
import Testing

@testable import SLS

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

import Crypto
import System

@testable import SLS

/// The inputs that the recorded vectors were computed over.
enum Vectors {
    /// Topic, source, two logs and two tags, as protobuf.
    static let raw = bytes(
        """
        0a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367120d
        68c3a96c6c6f20e4b896e7958c0a160889c198bc0612090a05656d7074791200
        2515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f69
        645f5f1212354432443145304135434442344533362d30320b0a03656e761204
        70726f64
        """
    )

    /// `raw` as an LZ4 block.
    static let lz4 = bytes(
        """
        f1220a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367
        120d68c3a96c6c6f20e4b896e7958c0a1608892d00f03f090a05656d70747912
        002515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f
        69645f5f1212354432443145304135434442344533362d30320b0a03656e7612
        0470726f64
        """
    )

    /// The body of the SDKs' own unit tests.
    static let sdk = bytes(
        """
        0a320a1e08f8b2939e0512160a07546573744b6579120b54657374436f6e7465
        6e741a00220e31302e3233302e3230312e313137
        """
    )

    static let credential = Credential(accessKeyID: "testkeyid", secret: Secret("testkeysecret"))
    static let temporary = Credential(
        accessKeyID: "STS.testkeyid",
        secret: Secret("testststkeysecret"),
        securityToken: Secret("test/sts+token==")
    )
    static let time = WallTime(seconds: 1_736_843_400)
    static let v4 = SigningMethod.v4(region: "cn-hangzhou")
    static let route = PutLogsRequest.Route.hash(
        key: "8a000000000000000000000000000000",
        sequence: 7
    )

    /// A PutLogs of a body that is `raw` when decompressed.
    static func put(_ route: PutLogsRequest.Route, _ compression: Compression) -> SLSRequest {
        guard let endpoint = try? Endpoint(parsing: "cn-hangzhou.log.aliyuncs.com") else {
            preconditionFailure("the endpoint of the vectors is fine")
        }
        let put = PutLogsRequest(
            endpoint: endpoint,
            project: "demo-project",
            logstore: "app-log",
            route: route,
            compression: compression,
            userAgent: "sluice"
        )
        return put.unsigned(rawBytes: 132)
    }

    static func get(query: [(String, String)]) -> SLSRequest {
        SLSRequest(
            method: "GET",
            path: "/logstores",
            query: [.init("logstoreName", "a b/c~*+")] + query.map { .init($0.0, $0.1) },
            headers: [
                .init("Host", "demo-project.cn-hangzhou.log.aliyuncs.com"),
                .init("x-log-apiversion", "0.6.0"),
                .init("x-log-bodyrawsize", "0"),
            ]
        )
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.filter { !$0.isNewline }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }
}

import Crypto
import HTTP
import JSON
import Logs
import Net
import SLS
import System
import TestSupport

@testable import Sandbox

/// A PutLogs request that can be bent before and after it is signed.
struct TestWrite {
    enum Version { case v1, v4 }

    static let noon = WallTime(seconds: 1_736_843_400)
    static let key = Credential(accessKeyID: "testkeyid", secret: Secret("testkeysecret"))
    static let stsKey = Credential(
        accessKeyID: "STS.testkeyid",
        secret: Secret("testststkeysecret"),
        securityToken: Secret("test/sts+token==")
    )

    var version = Version.v1
    var method = "POST"
    var path = "/logstores/app-log/shards/lb"
    var query: String?
    var credential = TestWrite.key
    var time = TestWrite.noon
    /// In lower case. Set to nil to leave one out.
    var fields: [String: String?] = [:]
    /// As protobuf, before compression.
    var raw = TestGroup().bytes
    var compression: ContentCoding?
    /// What goes over the wire instead of the compressed `raw`.
    var wire: [UInt8]?

    var body: [UInt8] {
        if let wire { return wire }
        return switch compression {
        case .lz4: LZ4.compress(raw)
        case .deflate: Deflate.compress(raw)
        case .zstd: Zstd.compress(raw)
        case .gzip, .snappy, nil: raw
        }
    }

    /// The request with a right signature over whatever it says.
    func signed() throws -> ReceivedRequest {
        let body = body
        var all: [String: String?] = [
            "host": "demo-project.cn-hangzhou.log.aliyuncs.com",
            "content-type": "application/x-protobuf",
            "content-length": "\(body.count)",
            "x-log-apiversion": "0.6.0",
            "x-log-bodyrawsize": "\(raw.count)",
            "x-log-compresstype": compression?.rawValue,
            "x-acs-security-token": credential.securityToken?.revealed,
        ]
        let compact = String(time.rfc3339.prefix(19)).filter { $0 != "-" && $0 != ":" } + "Z"
        switch version {
        case .v1:
            all["date"] = SignedDate.text(of: time)
            all["content-md5"] = hex(Digest.md5(body), upper: true)
            all["x-log-signaturemethod"] = "hmac-sha1"
        case .v4:
            all["x-log-date"] = compact
            all["x-log-content-sha256"] = hex(Digest.sha256(body))
        }
        for (name, value) in fields { all[name] = value }
        if all["authorization"] == nil {
            let unsigned = try request(all)
            switch version {
            case .v1:
                let signature = unsigned.signatureV1(secret: credential.secret)
                all["authorization"] = "LOG \(credential.accessKeyID):\(signature)"
            case .v4:
                let signature = unsigned.signatureV4(
                    secret: credential.secret,
                    region: "cn-hangzhou",
                    bodyDigest: hex(Digest.sha256(body))
                )
                let day = (all["x-log-date"] ?? nil)?.prefix(8) ?? compact.prefix(8)
                all["authorization"] =
                    "SLS4-HMAC-SHA256 Credential=\(credential.accessKeyID)/\(day)/cn-hangzhou/sls/"
                    + "aliyun_v4_request,Signature=\(signature)"
            }
        }
        return try request(all)
    }

    private func request(_ fields: [String: String?]) throws -> ReceivedRequest {
        try ReceivedRequest(
            method: method,
            path: path,
            query: query,
            fields: fields.sorted { $0.key < $1.key }.compactMap { name, value in
                value.map { (name, $0) }
            }
        )
    }
}

/// A LogGroup, written by hand.
struct TestGroup {
    struct Log {
        var time = UInt32(TestWrite.noon.seconds)
        var nanoseconds: UInt32?
        var fields: [(String, String)] = [("k", "v")]
    }

    var logs = [Log()]
    var topic: String?
    var source: String?
    var tags: [(String, String)] = []

    var bytes: [UInt8] {
        var group: [UInt8] = []
        for log in logs {
            var entry = [0x08] + Self.varint(UInt64(log.time))
            for (key, value) in log.fields { entry += Self.chunk(0x12, Self.pair(key, value)) }
            if let nanoseconds = log.nanoseconds {
                entry.append(0x25)
                entry += withUnsafeBytes(of: nanoseconds.littleEndian, Array.init)
            }
            group += Self.chunk(0x0A, entry)
        }
        if let topic { group += Self.chunk(0x1A, Array(topic.utf8)) }
        if let source { group += Self.chunk(0x22, Array(source.utf8)) }
        for (key, value) in tags { group += Self.chunk(0x32, Self.pair(key, value)) }
        return group
    }

    static func pair(_ key: String, _ value: String) -> [UInt8] {
        chunk(0x0A, Array(key.utf8)) + chunk(0x12, Array(value.utf8))
    }

    static func chunk(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        [tag] + varint(UInt64(bytes.count)) + bytes
    }

    static func varint(_ value: UInt64) -> [UInt8] {
        value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F | 0x80)] + varint(value >> 7)
    }
}

extension Sandbox {
    /// A sandbox whose clock stands at noon.
    static func forTests(
        _ change: (inout SandboxConfiguration) -> Void = { _ in }
    ) throws -> Sandbox {
        var configuration = SandboxConfiguration(
            listen: try ListenAddress(parsing: "127.0.0.1:0"),
            keys: [TestWrite.key, TestWrite.stsKey]
        )
        configuration.clock = { TestWrite.noon }
        configuration.seed = 7
        change(&configuration)
        return try Sandbox(configuration, journal: .silent)
    }

    func put(_ write: TestWrite) throws -> Response {
        answer(try write.signed(), bytes: write.body).response
    }

    func answer(_ request: ReceivedRequest, bytes: [UInt8] = []) -> Answer {
        bytes.withUnsafeBytes { answer(request, body: $0, inflater: Inflater()) }
    }

    func control(
        _ method: String,
        _ path: String,
        query: String? = nil,
        _ json: String = ""
    ) throws -> Response {
        let request = try ReceivedRequest(
            method: method,
            path: path,
            query: query,
            fields: [("host", "127.0.0.1")]
        )
        return answer(request, bytes: Array(json.utf8)).response
    }
}

extension Response {
    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSONValue? { try? JSONValue(parsing: body) }

    var errorCode: String? { json?["errorCode"]?.string }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

extension JSONValue {
    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    subscript(_ index: Int) -> JSONValue? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var integer: Int? {
        if case .number(let number) = self { Int(number) } else { nil }
    }
}

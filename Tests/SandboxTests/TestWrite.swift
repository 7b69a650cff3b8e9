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
            all["date"] = time.httpDate
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
        bytes.withUnsafeBytes { body in
            var request = request
            request.body = body
            return answer(request, inflater: Inflater())
        }
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

    var errorCode: String? { json?["errorCode"]?.text }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

extension JSONValue {
    subscript(_ index: Int) -> JSONValue? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }
}

/// A client of the sandbox on one connection, which sees how answers break.
final class SandboxClient {
    /// How an answer can end before its time.
    enum Broken: Error, Equatable {
        case reset
        /// The connection ended after so many bytes of the body; nil before the head did.
        case cut(Int?)
        case timeout
    }

    private let connection: TestConnection
    private let host: String

    init(_ address: ListenAddress, seconds: Int = 20) throws {
        host = "demo-project.localhost:\(address.port)"
        connection = try TestConnection(to: address, seconds: seconds)
    }

    func get(_ target: String) throws -> TestAnswer { try ask("GET", target) }

    func ask(_ method: String, _ target: String, _ body: String = "") throws -> TestAnswer {
        let length = "content-length: \(body.utf8.count)\r\n"
        connection.send("\(method) \(target) HTTP/1.1\r\nhost: \(host)\r\n\(length)\r\n\(body)")
        return try receive()
    }

    /// Sends a right write to this sandbox, now.
    func put(_ write: TestWrite) throws -> TestAnswer {
        try send(write)
        return try receive()
    }

    func send(_ write: TestWrite) throws {
        var write = write
        write.fields["host"] = host
        let request = try write.signed()
        let target = request.path + (write.query.map { "?" + $0 } ?? "")
        var head = "\(request.method) \(target) HTTP/1.1\r\n"
        for field in request.fields { head += "\(field.name): \(field.value)\r\n" }
        connection.send(Array((head + "\r\n").utf8) + write.body)
    }

    func receive() throws -> TestAnswer {
        if let answer = connection.answer() { return answer }
        switch connection.ending {
        case .reset: throw Broken.reset
        case .silence: throw Broken.timeout
        case .closed, nil:
            let end = connection.unread.firstRange(of: Array("\r\n\r\n".utf8))
            throw Broken.cut(end.map { connection.unread.count - $0.upperBound })
        }
    }
}

extension TestAnswer {
    var json: JSONValue? { try? JSONValue(parsing: body) }
}

/// Bytes that the official Python SDK produced.
enum Vectors {
    static let minimal = bytes("0a0e0888c198bc0612060a016b120176")

    static let raw = bytes(
        """
        0a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367120d\
        68c3a96c6c6f20e4b896e7958c0a160889c198bc0612090a05656d7074791200\
        2515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f69\
        645f5f1212354432443145304135434442344533362d30320b0a03656e761204\
        70726f64
        """
    )

    static let lz4 = bytes(
        """
        f1220a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367\
        120d68c3a96c6c6f20e4b896e7958c0a1608892d00f03f090a05656d70747912\
        002515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f\
        69645f5f1212354432443145304135434442344533362d30320b0a03656e7612\
        0470726f64
        """
    )

    static let goBody = bytes(
        """
        0a320a1e08f8b2939e0512160a07546573744b6579120b54657374436f6e7465\
        6e741a00220e31302e3233302e3230312e313137
        """
    )

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap(hexValue)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

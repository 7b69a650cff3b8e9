import CLZ4
import CZlib
import System
import TestSupport
import Testing

@testable import Ingest
@testable import Logs

/// What `Content-Encoding` may say, and what `Accept-Encoding` of a refusal says of that.
@Suite(.timeLimit(.minutes(1))) struct ContentEncodingTests {
    struct Kind: Sendable {
        let path: String
        let type: String
        let body: [UInt8]
        var status = 200
    }

    private static let kinds = [
        Kind(path: "/logs/x", type: "application/json", body: Array(#"{"a":1}"#.utf8)),
        Kind(
            path: "/logstores/app-log/track",
            type: "application/json",
            body: Array(#"{"__logs__":[{"a":"1"}]}"#.utf8)
        ),
        Kind(
            path: "/logstores/app-log",
            type: "application/json",
            body: Array(#"{"__logs__":[{"a":"2"}]}"#.utf8)
        ),
        Kind(path: "/v1/logs", type: "application/json", body: Array("{}".utf8)),
        Kind(path: "/otlp/v1/logs", type: "application/x-protobuf", body: [0x0A, 0]),
        Kind(
            path: "/_bulk",
            type: "application/x-ndjson",
            body: Array("{\"index\":{\"_index\":\"i\"}}\n{}\n".utf8)
        ),
        Kind(path: "/i/_doc", type: "application/json", body: Array("{}".utf8), status: 201),
        Kind(
            path: "/services/collector",
            type: "application/json",
            body: Array(#"{"event":1}"#.utf8)
        ),
        Kind(
            path: "/loki/api/v1/push",
            type: "application/json",
            body: Array(#"{"streams":[{"stream":{"a":"b"},"values":[["1","x"]]}]}"#.utf8),
            status: 204
        ),
        Kind(path: "/loki/api/v1/push", type: "application/x-protobuf", body: [], status: 204),
    ]

    /// All that are registered or that a client is known to send.
    private static let codings = [
        "gzip", "x-gzip", "deflate", "zlib", "zstd", "lz4", "snappy", "x-snappy-framed", "identity",
        "br", "compress", "x-compress", "dcb", "dcz", "exi", "aes128gcm", "pack200-gzip", "bzip2",
        "xz", "gzip, gzip", "x-lz4-framed", "none", "*",
    ]

    @Test("A refusal lists what is taken, all of it and nothing else", arguments: 0..<kinds.count)
    func truth(index: Int) throws {
        let kind = Self.kinds[index]
        let end = try DeviceListener()
        func post(_ coding: String, _ body: [UInt8]) throws -> TestAnswer {
            try end.client.post(
                kind.path,
                body,
                ["content-type": kind.type, "content-encoding": coding]
            )
        }
        let refused = try post("rar", kind.body)
        #expect(refused.status == 415)
        let listed = try #require(refused["accept-encoding"]).split(separator: ", ")
            .map(String.init)
        #expect(Set(listed).count == listed.count && listed.contains("identity"))
        for coding in listed {
            let answer = try post(coding, Self.encoded(kind, coding))
            #expect(answer.status == kind.status, "\(coding): \(answer.text)")
        }
        for coding in Self.codings where !listed.contains(coding) {
            let answer = try post(coding, kind.body)
            #expect(answer.status == 415, "\(coding): \(answer.text)")
            #expect(answer["accept-encoding"] == refused["accept-encoding"])
        }
    }

    private static func encoded(_ kind: Kind, _ coding: String) -> [UInt8] {
        // Protobuf of Loki's clients comes in snappy, whatever the header says.
        if kind.body.isEmpty { return [0] }
        switch coding {
        case "gzip", "x-gzip": return gzip(kind.body)
        case "deflate", "zlib": return Deflate.compress(kind.body)
        case "zstd": return Zstd.compress(kind.body)
        case "lz4": return lz4Frame(kind.body)
        case "snappy": return snappyBlock(kind.body)
        case "x-snappy-framed": return snappyStream(kind.body)
        default: return kind.body
        }
    }

    @Test("Older Collectors call framed what is snappy, and blocks of lz4 need their size")
    func alike() throws {
        let end = try DeviceListener()
        let body = Array(#"{"a":1}"#.utf8)
        func status(_ coding: String, _ body: [UInt8], _ size: String = "") throws -> Int {
            let fields: KeyValuePairs = ["content-encoding": coding, "x-log-bodyrawsize": size]
            let plain: KeyValuePairs = ["content-encoding": coding]
            return try end.client.post("/logs/x", body, size.isEmpty ? plain : fields).status
        }
        #expect(try status("snappy", Self.snappyStream(body)) == 200)
        #expect(try status("x-snappy-framed", Self.snappyBlock(body)) == 200)
        #expect(try status("lz4", LZ4.compress(body)) == 400)
        #expect(try status("lz4", LZ4.compress(body), "7") == 200)
        #expect(try status("lz4", Self.lz4Frame(body), "7") == 200)
        #expect(try status("lz4", Self.lz4Frame(body), "8") == 400)
        let sls: KeyValuePairs = ["x-log-compresstype": "lz4"]
        #expect(try end.client.post("/logs/x", Self.lz4Frame(body), sls).status == 200)
        // What SLS has no name for is none in its header.
        let snappy: KeyValuePairs = ["x-log-compresstype": "snappy"]
        #expect(try end.client.post("/logs/x", Self.snappyBlock(body), snappy).status == 400)
    }

    @Test(
        "MessagePack is told how to become JSON",
        arguments: [
            "application/msgpack", "application/x-msgpack; a=b", "Application/vnd.msgpack",
        ],
        ["/logs/x", "/logstores/app-log/track"]
    )
    func messagePack(type: String, path: String) throws {
        let end = try DeviceListener()
        let answer = try end.client.post(path, [0x91, 0x92], ["content-type": type])
        #expect(answer.status == 415)
        #expect(answer.text.contains("in Fluent Bit: Format json"), "\(answer.text)")
        #expect(answer["accept-encoding"] == nil)
    }

    private static func gzip(_ raw: [UInt8]) -> [UInt8] {
        // A zlib stream without its header and its checksum is what stands in gzip's (RFC 1952).
        let deflated = Deflate.compress(raw).dropFirst(2).dropLast(4)
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + deflated
        let sum = UInt32(truncatingIfNeeded: crc32(0, raw, UInt32(raw.count)))
        for number in [sum, UInt32(raw.count)] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    private static func lz4Frame(_ raw: [UInt8]) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: LZ4F_compressFrameBound(raw.count, nil))
        let bound = frame.count
        let count = LZ4F_compressFrame(&frame, bound, raw, raw.count, nil)
        return Array(frame[..<count])
    }

    /// One literal.
    private static func snappyBlock(_ raw: [UInt8]) -> [UInt8] {
        precondition((1...127).contains(raw.count))
        let size = UInt8(raw.count)
        return (raw.count <= 60 ? [size, (size - 1) << 2] : [size, 60 << 2, size - 1]) + raw
    }

    private static func snappyStream(_ raw: [UInt8]) -> [UInt8] {
        let block = snappyBlock(raw)
        let sum = raw.withUnsafeBytes { CRC32C.masked(of: $0) }
        return [0xFF, 6, 0, 0] + Array("sNaPpY".utf8) + [0, UInt8(block.count + 4), 0, 0]
            + withUnsafeBytes(of: sum.littleEndian) { Array($0) } + block
    }
}

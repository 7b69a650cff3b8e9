import CLZ4
import CZlib
import System
import TestSupport
import Testing

@testable import Ingest
@testable import Logs

/// What `Content-Encoding` may say, and what `Accept-Encoding` of a refusal says of that.
@Suite(.timeLimit(.minutes(10))) struct ContentEncodingTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    struct Kind: Sendable {
        let path: String
        let type: String
        let body: [UInt8]
        let status: Int

        init(_ path: String, type: String = "json", _ body: String, status: Int = 200) {
            (self.path, self.type, self.status) = (path, "application/\(type)", status)
            self.body = Array(body.utf8)
        }
    }

    private static let kinds = [
        Kind("/logs/x", #"{"a":1}"#),
        Kind("/logstores/app-log/track", #"{"__logs__":[{"a":"1"}]}"#),
        Kind("/logstores/app-log", #"{"__logs__":[{"a":"2"}]}"#),
        Kind("/v1/logs", "{}"),
        Kind("/otlp/v1/logs", type: "x-protobuf", "\u{0A}\0"),
        Kind("/_bulk", type: "x-ndjson", "{\"index\":{\"_index\":\"i\"}}\n{}\n"),
        Kind("/i/_doc", "{}", status: 201),
        Kind("/services/collector", #"{"event":1}"#),
        Kind(
            "/loki/api/v1/push",
            #"{"streams":[{"stream":{"a":"b"},"values":[["1","x"]]}]}"#,
            status: 204
        ),
        Kind("/loki/api/v1/push", type: "x-protobuf", "", status: 204),
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
        // Each coding holds the same logs.
        let fields = try Set(end.queue.stored.map { try $0.fields() })
        #expect(end.queue.stored.isEmpty || fields.count == 1)
        #expect(end.queue.stored.isEmpty || end.queue.stored.count == listed.count)
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

@Suite struct BodyShapeTests {
    @Test(
        "An object is known by its first bytes",
        arguments: ["{}", "{\"a\":1}", " \r\n\t{ \n\"a", "\u{FEFF}{}"]
    )
    func object(text: String) {
        Array(text.utf8).withUnsafeBytes {
            #expect($0.beginsAsObject)
            #expect(!$0.beginsAsLogGroup)
        }
    }

    @Test("A LogGroup is none, even where its first bytes are blanks and a brace")
    func logGroup() {
        for size in 0..<UInt8(128) {
            ([0x0A, size, 0x08, 0x80] as [UInt8]).withUnsafeBytes {
                #expect($0.beginsAsLogGroup)
                #expect(!$0.beginsAsObject)
            }
        }
        ([0x0A, 0x80, 0x80, 0x01, 0x08] as [UInt8]).withUnsafeBytes {
            #expect($0.beginsAsLogGroup)
        }
    }

    @Test(
        "What ends too early is neither",
        arguments: [
            [], [0x0A], [0x0A, 0x7B], [0x0A, 0x80, 0x80], [0x7B], [0xEF, 0xBB, 0x7B], [0x20],
        ]
            as [[UInt8]]
    )
    func neither(bytes: [UInt8]) {
        bytes.withUnsafeBytes {
            #expect(!$0.beginsAsObject)
            #expect(!$0.beginsAsLogGroup)
        }
    }
}

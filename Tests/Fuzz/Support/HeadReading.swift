@testable import HTTP

/// The content of a head, without its places.
struct ReadHead: Equatable {
    struct Field: Equatable {
        let name: String
        let value: [UInt8]
    }

    let line: [UInt8]
    let path: [UInt8]
    let query: [UInt8]?
    let fields: [Field]
    let method: RequestHead.Method
    let minorVersion: Int
    let framing: BodyFraming
    let keepsAlive: Bool
    let expectsContinue: Bool

    init(_ parsed: ParsedHead) {
        let head = parsed.head
        line = Array(head.bytes.prefix { $0 != UInt8(ascii: "\r") })
        path = Array(head.bytes[head.path])
        query = head.query.map { Array(head.bytes[$0]) }
        fields = head.fields.map {
            Field(
                name: String(decoding: head.bytes[$0.name], as: UTF8.self),
                value: Array(head.bytes[$0.value])
            )
        }
        method = head.method
        minorVersion = head.minorVersion
        framing = parsed.framing
        keepsAlive = parsed.keepsAlive
        expectsContinue = parsed.expectsContinue
    }

    var written: [UInt8] {
        let end = Array("\r\n".utf8)
        let lines = fields.flatMap { Array("\($0.name): ".utf8) + $0.value + end }
        return line + end + lines + end
    }
}

/// The result for bytes that should begin with a head.
enum HeadReading: Equatable {
    case head(ReadHead, consumed: Int)
    case refused(RequestProblem)
    case incomplete

    /// Reads the bytes as they would come in pieces that end at the cuts.
    init(_ bytes: [UInt8], cuts: [Int], _ limits: HTTPServer.Limits) {
        do throws(RequestProblem) {
            guard let (parsed, consumed) = try Self.read(bytes, cuts, limits) else {
                self = .incomplete
                return
            }
            self = .head(ReadHead(parsed), consumed: consumed)
        } catch {
            self = .refused(error)
        }
    }

    static func read(
        _ bytes: [UInt8],
        _ cuts: [Int],
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> (ParsedHead, consumed: Int)? {
        var scanner = HeadScanner()
        var start = 0
        for cut in cuts + [bytes.count] {
            let parsed = try exactly(bytes[start..<cut]) { piece throws(RequestProblem) in
                try read(piece, &scanner, limits)
            }
            if let (head, consumed) = parsed { return (head, consumed + start) }
            // As the loop does it.
            if scanner.takeEmptyLine() { start = cut }
        }
        return nil
    }

    private static func read(
        _ bytes: UnsafeRawBufferPointer,
        _ scanner: inout HeadScanner,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> (ParsedHead, consumed: Int)? {
        guard let range = try scanner.scan(bytes, limits) else { return nil }
        let parsed = try exactly(bytes[range]) { head throws(RequestProblem) in
            try HeadParser.parse(
                head,
                fieldCount: scanner.fieldCount,
                peer: PeerAddress(host: "192.0.2.1", port: 1)
            )
        }
        return (parsed, range.upperBound)
    }
}

import TestSupport

@testable import HTTP

/// What a head came to, in a form that can be compared.
struct HeadReading: Equatable, CustomStringConvertible {
    var problem: RequestProblem?
    var isIncomplete = false
    var consumed = 0
    var method = RequestHead.Method.other
    var path = ""
    var query: String?
    var fields: [String] = []
    var minorVersion = -1
    var framing = BodyFraming.none
    var keepsAlive = false
    var expectsContinue = false

    var description: String {
        problem.map { "\($0.status): \($0.reason)" }
            ?? (isIncomplete ? "incomplete" : "\(method) \(path) \(framing) \(fields)")
    }

    /// Reads the bytes as they would come in pieces that end at the cuts.
    static func of(
        _ bytes: [UInt8],
        cuts: [Int] = [],
        _ limits: HTTPServer.Limits = .init()
    ) -> HeadReading {
        var scanner = HeadScanner()
        for cut in cuts + [bytes.count] {
            // A copy of its own size, so that a sanitizer sees each byte read behind the piece.
            let piece = Array(bytes[..<cut])
            do throws(RequestProblem) {
                if let reading = try read(piece, &scanner, limits) { return reading }
            } catch {
                return HeadReading(problem: error)
            }
        }
        return HeadReading(isIncomplete: true)
    }

    private static func read(
        _ bytes: [UInt8],
        _ scanner: inout HeadScanner,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> HeadReading? {
        try bytes.withUnsafeBufferPointer { bytes throws(RequestProblem) in
            let bytes = UnsafeRawBufferPointer(bytes)
            guard let range = try scanner.scan(bytes, limits) else { return nil }
            let parsed = try HeadParser.parse(
                UnsafeRawBufferPointer(rebasing: bytes[range]),
                fieldCount: scanner.fieldCount,
                peer: PeerAddress(host: "192.0.2.1", port: 1)
            )
            return HeadReading(parsed, consumed: range.upperBound)
        }
    }

    private init(_ parsed: ParsedHead, consumed: Int) {
        self.consumed = consumed
        let head = parsed.head
        method = head.method
        path = head.pathText
        query = head.queryText
        fields = head.fields.map {
            String(decoding: head.bytes[$0.name], as: UTF8.self) + "="
                + String(decoding: head.bytes[$0.value], as: UTF8.self)
        }
        minorVersion = head.minorVersion
        framing = parsed.framing
        keepsAlive = parsed.keepsAlive
        expectsContinue = parsed.expectsContinue
    }

    init(problem: RequestProblem? = nil, isIncomplete: Bool = false) {
        self.problem = problem
        self.isIncomplete = isIncomplete
    }
}

extension [UInt8] {
    private static let tokens = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ";", ",", "0", "f", "chunked",
        "Content-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "HTTP/1.1", "/", "\u{ff}",
        "xxxxxxxxxxxxxxxx",
        "7fffffffffffffff", "0\r\n\r\n",
    ].map { Array($0.utf8) }

    /// A few bytes flipped, removed, doubled, or replaced by what parsers stumble over.
    func mutated(using random: inout SeededRandom) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let end = Swift.min(bytes.count, place + Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 3: bytes.insert(contentsOf: Self.tokens.randomElement(using: &random)!, at: place)
            default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        return bytes
    }
}

@testable import HTTP

/// Bodies in the chunked coding.
enum ChunkEntry: FuzzEntry {
    static let name = "chunks"
    static let bytesMax = 1024

    private static let bodyBytesMax = 300

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let whole = Decoding(bytes, cuts: [])
        let pieces = Decoding(bytes, cuts: Array(1..<max(1, bytes.count)))
        try check(whole == pieces, "cuts make a difference: \(whole), \(pieces)")
        try check(whole.body.count <= bodyBytesMax, "more than may be: \(whole)")
        guard whole.isComplete else { return }
        let alone = Decoding(Array(bytes[..<whole.consumed]), cuts: [])
        try check(alone == whole, "what follows a body changes it")
        let last = Array("0\r\n\r\n".utf8)
        let size = Array("\(String(whole.body.count, radix: 16))\r\n".utf8)
        let coded = whole.body.isEmpty ? last : size + whole.body + Array("\r\n".utf8) + last
        let again = Decoding(coded, cuts: [])
        try check(again.isComplete && again.body == whole.body, "coded anew it is another body")
        try check(again.consumed == coded.count, "coded anew it ends elsewhere")
    }

    private struct Decoding: Equatable {
        var body: [UInt8] = []
        var consumed = 0
        var isComplete = false
        var problem: RequestProblem?

        private static let limits = {
            var limits = HTTPServer.Limits()
            limits.chunkExtensionBytes = 40
            limits.trailerBytes = 40
            return limits
        }()

        init(_ bytes: [UInt8], cuts: [Int]) {
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count,
                alignment: 1
            )
            defer { memory.deallocate() }
            memory.copyBytes(from: bytes)
            guard let start = memory.baseAddress else { return }
            var decoder = ChunkDecoder()
            var (read, written) = (0, 0)
            for end in cuts + [bytes.count] where !isComplete && problem == nil {
                do throws(RequestProblem) {
                    isComplete = try decoder.decode(
                        start,
                        read: &read,
                        end: end,
                        written: &written,
                        bodyBytesMax: ChunkEntry.bodyBytesMax,
                        Self.limits
                    )
                } catch {
                    problem = error
                }
            }
            // The position of a refused body is not used.
            guard problem == nil else { return }
            consumed = read
            body = Array(memory[..<written])
        }
    }
}

/// Requests' heads.
enum HeadEntry: FuzzEntry {
    static let name = "head"
    static let bytesMax = 1024

    private static let limits = {
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 120
        limits.headBytes = 400
        limits.headFields = 8
        return limits
    }()

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let whole = HeadReading(bytes, cuts: [], limits)
        let pieces = HeadReading(bytes, cuts: Array(1..<max(1, bytes.count)), limits)
        try check(whole == pieces, "cuts make a difference: \(whole), \(pieces)")
        guard case .head(let head, let consumed) = whole else { return }
        let alone = HeadReading(Array(bytes[..<consumed]), cuts: [], limits)
        try check(alone == whole, "what follows a head changes it: \(whole), \(alone)")
        // A space more in each field may be beyond the limits above.
        guard case .head(let again, _) = HeadReading(head.written, cuts: [], .init()) else {
            throw Contradiction(description: "a head that was taken is refused when written anew")
        }
        try check(again == head, "written anew a head means something else: \(again), \(head)")
        try head.hasOneEnd()
    }
}

extension ReadHead {
    /// The signs of request smuggling, looked for in an obvious way.
    fileprivate func hasOneEnd() throws(Contradiction) {
        func count(_ name: String) -> Int { fields.count { $0.name.lowercased() == name } }
        try check(count("content-length") <= 1, "two lengths")
        try check(count("host") <= 1, "two hosts")
        try check(minorVersion == 0 || count("host") == 1, "no host")
        let isCoded = count("transfer-encoding") > 0
        try check(isCoded == (framing == .chunked), "a coding that is not undone")
        try check(!isCoded || count("content-length") == 0, "two framings")
        if case .length(let length) = framing, count("content-length") == 0 {
            try check(length == 0, "a body of which nothing is said")
        }
    }
}

/// PROXY headers, which name the client behind a proxy.
enum ProxyEntry: FuzzEntry {
    static let name = "proxy"
    static let bytesMax = 700

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard case .header(let header) = Reading(bytes[...]) else { return }
        try check(header.length <= bytes.count, "longer than what came")
        try check(header.length <= ProxyHeader.bytesMax, "longer than any may be")
        for count in 0..<header.length {
            try check(Reading(bytes[..<count]) == .incomplete, "\(count) bytes suffice")
        }
        let alone = Reading(bytes[..<header.length])
        try check(alone == .header(header), "what follows it changes it")
    }

    private enum Reading: Equatable {
        case header(ProxyHeader)
        case incomplete
        case refused(ProxyHeaderError)

        init(_ bytes: ArraySlice<UInt8>) {
            do throws(ProxyHeaderError) {
                let header = try exactly(bytes) { bytes throws(ProxyHeaderError) in
                    try ProxyHeader.parse(bytes)
                }
                self = header.map { .header($0) } ?? .incomplete
            } catch {
                self = .refused(error)
            }
        }
    }
}

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

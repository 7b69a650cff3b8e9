/// Follows one body to its end, piece by piece.
struct BodyReader {
    private enum Coding {
        case length(remaining: Int)
        case chunked(ChunkDecoder)
    }

    private var coding: Coding
    let bodyBytesMax: Int
    /// The body of a refused request is read and dropped, only to reach the next request.
    let isDropped: Bool
    /// The full length, if the head declares it.
    let declaredBytes: Int?
    /// Bytes since the deadline was last extended.
    var progressBytes = 0
    /// All bytes so far, chunk framing included.
    private(set) var arrivedBytes = 0

    init(_ framing: BodyFraming, _ bodyBytesMax: Int, isDropped: Bool) {
        switch framing {
        case .length(let count):
            coding = .length(remaining: count)
            declaredBytes = count
        case .chunked:
            coding = .chunked(ChunkDecoder())
            declaredBytes = nil
        }
        self.bodyBytesMax = bodyBytesMax
        self.isDropped = isDropped
    }

    /// Takes the body bytes that are present. Returns true at the end of the body.
    mutating func advance(
        _ input: inout InputWindow,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> Bool {
        let before = input.start
        guard !isDropped else {
            defer { count(input.start - before) }
            return try drop(&input, limits)
        }
        switch coding {
        case .length(let remaining):
            let taken = min(remaining, input.end - input.start)
            input.start += taken
            input.bodyEnd = input.start
            count(taken)
            coding = .length(remaining: remaining - taken)
            return taken == remaining
        case .chunked(var decoder):
            guard let block = input.block else { return false }
            defer {
                coding = .chunked(decoder)
                count(input.start - before)
                // Reuses the space of the removed framing for the next bytes.
                if input.start == input.end {
                    (input.start, input.end) = (input.bodyEnd, input.bodyEnd)
                }
            }
            return try decoder.decode(
                block.memory,
                read: &input.start,
                end: input.end,
                written: &input.bodyEnd,
                bodyBytesMax: bodyBytesMax,
                limits
            )
        }
    }

    private mutating func count(_ bytes: Int) {
        progressBytes += bytes
        arrivedBytes += bytes
    }

    private mutating func drop(
        _ input: inout InputWindow,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> Bool {
        switch coding {
        case .length(let remaining):
            let count = min(remaining, input.end - input.start)
            input.start += count
            coding = .length(remaining: remaining - count)
            return count == remaining
        case .chunked(var decoder):
            guard let block = input.block else { return false }
            defer { coding = .chunked(decoder) }
            var written = input.start
            return try decoder.decode(
                block.memory,
                read: &input.start,
                end: input.end,
                written: &written,
                bodyBytesMax: bodyBytesMax,
                limits
            )
        }
    }
}

/// Follows one body to its end, piece by piece.
struct BodyReader {
    private enum Coding {
        case length(remaining: Int)
        case chunked(ChunkDecoder)
    }

    private var coding: Coding
    let bodyBytesMax: Int
    /// The body of a refused request is read only to reach the next one.
    let isDropped: Bool
    /// The whole length, where the head tells it.
    let declaredBytes: Int?
    /// Bytes since the deadline was last put off.
    var progressBytes = 0
    /// All bytes so far, those of the chunked coding included.
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

    /// Takes what is there of the body. True when that was its end.
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
                // What was framing is free again for what comes next.
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

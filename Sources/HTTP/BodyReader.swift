import Glibc
import System

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
        switch coding {
        case .length(let remaining):
            let taken = min(remaining, input.end - input.start)
            input.start += taken
            if !isDropped { input.bodyEnd = input.start }
            count(taken)
            coding = .length(remaining: remaining - taken)
            return taken == remaining
        case .chunked(var decoder):
            guard let block = input.block else { return false }
            var written = isDropped ? input.start : input.bodyEnd
            defer {
                coding = .chunked(decoder)
                count(input.start - before)
                if !isDropped {
                    input.bodyEnd = written
                    // Reuses the space of the removed framing for the next bytes.
                    if input.start == input.end { (input.start, input.end) = (written, written) }
                }
            }
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

    private mutating func count(_ bytes: Int) {
        progressBytes += bytes
        arrivedBytes += bytes
    }
}

/// Removes the chunked coding (RFC 9112 section 7.1) in place, as the bytes arrive.
///
/// Data moves forward over the framing, so the body ends up in one piece without a second buffer.
/// The result depends on the bytes alone, not on how reads divide them.
struct ChunkDecoder {
    private enum State {
        case size(digits: Int)
        case chunkExtension(Quotes)
        case sizeEnd
        case data
        case dataReturn
        case dataEnd
        case trailerStart
        case trailerName
        case trailerValue
        case trailerEnd
        case lastEnd
        case done
    }

    /// The position in a quoted string of a chunk extension.
    private enum Quotes {
        case outside, inside, escaped

        func after(_ byte: UInt8) -> Quotes {
            switch (self, byte) {
            case (.outside, UInt8(ascii: "\"")): .inside
            case (.inside, UInt8(ascii: "\"")): .outside
            case (.inside, UInt8(ascii: "\\")): .escaped
            case (.escaped, _): .inside
            default: self
            }
        }
    }

    private var state = State.size(digits: 0)
    private var chunkBytes = 0
    private var bodyBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0

    /// Decodes the bytes from `read` to `end` and writes the data at `written`, which is never
    /// after `read`; advances both. Returns true when the body is complete; `read` is then at the
    /// next request.
    ///
    /// A chunk that would exceed `bodyBytesMax` is refused before its data is read.
    mutating func decode(
        _ memory: UnsafeMutableRawPointer,
        read: inout Int,
        end: Int,
        written: inout Int,
        bodyBytesMax: Int,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> Bool {
        while read < end {
            if case .data = state {
                let count = min(chunkBytes, end - read)
                if written != read { memmove(memory + written, memory + read, count) }
                read += count
                written += count
                chunkBytes -= count
                if chunkBytes == 0 { state = .dataReturn }
                continue
            }
            let byte = memory.load(fromByteOffset: read, as: UInt8.self)
            read += 1
            state = try next(after: byte, bodyBytesMax: bodyBytesMax, limits)
            if case .done = state { return true }
        }
        return false
    }

    private mutating func next(
        after byte: UInt8,
        bodyBytesMax: Int,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> State {
        switch state {
        case .size(let digits):
            return try afterSizeByte(byte, digits: digits, bodyBytesMax: bodyBytesMax, limits)
        case .chunkExtension(let quotes):
            if byte == .carriageReturn {
                // A reader that understands quotes otherwise would see the line end elsewhere.
                guard quotes == .outside else {
                    throw .malformed("a chunk extension ends within quotes")
                }
                return .sizeEnd
            }
            guard byte.isFieldContent else {
                throw .malformed("a chunk extension contains a control character")
            }
            try countExtension(limits)
            return .chunkExtension(quotes.after(byte))
        case .sizeEnd:
            try expect(.lineFeed, byte)
            return chunkBytes == 0 ? .trailerStart : .data
        case .dataReturn:
            guard byte == .carriageReturn else {
                throw .malformed("a chunk is longer than its size says")
            }
            return .dataEnd
        case .dataEnd:
            try expect(.lineFeed, byte)
            return .size(digits: 0)
        case .trailerStart:
            if byte == .carriageReturn { return .lastEnd }
            return try afterTrailerName(byte, isFirst: true, limits)
        case .trailerName:
            return try afterTrailerName(byte, isFirst: false, limits)
        case .trailerValue:
            try countTrailer(limits)
            if byte == .carriageReturn { return .trailerEnd }
            guard byte.isFieldContent else {
                throw .malformed("a trailer contains a control character")
            }
            return .trailerValue
        case .trailerEnd:
            try expect(.lineFeed, byte)
            return .trailerStart
        case .lastEnd:
            try expect(.lineFeed, byte)
            return .done
        case .data, .done:
            preconditionFailure("no byte is looked at in this state")
        }
    }

    private mutating func afterSizeByte(
        _ byte: UInt8,
        digits: Int,
        bodyBytesMax: Int,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> State {
        if let digit = hexValue(byte) {
            if digits == 0 { chunkBytes = 0 }
            // Fifteen digits cannot overflow; the limit also stops endless leading zeros.
            guard digits < 15 else { throw .malformed("a chunk size has too many digits") }
            chunkBytes = chunkBytes << 4 | Int(digit)
            return .size(digits: digits + 1)
        }
        guard digits > 0, byte == .carriageReturn || byte == UInt8(ascii: ";") else {
            throw .malformed("a chunk size is not a hexadecimal number")
        }
        guard chunkBytes <= bodyBytesMax - bodyBytes else {
            throw .bodyTooLarge(bodyBytesMax)
        }
        bodyBytes += chunkBytes
        if byte == .carriageReturn { return .sizeEnd }
        try countExtension(limits)
        return .chunkExtension(.outside)
    }

    private mutating func afterTrailerName(
        _ byte: UInt8,
        isFirst: Bool,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> State {
        try countTrailer(limits)
        if byte.isToken { return .trailerName }
        guard !isFirst, byte == UInt8(ascii: ":") else {
            throw .malformed("a line after the last chunk is not a trailer field")
        }
        return .trailerValue
    }

    private func expect(_ wanted: UInt8, _ byte: UInt8) throws(RequestProblem) {
        guard byte == wanted else {
            throw .malformed("a line of the chunked coding does not end with CRLF")
        }
    }

    private mutating func countExtension(_ limits: HTTPServer.Limits) throws(RequestProblem) {
        extensionBytes += 1
        guard extensionBytes <= limits.chunkExtensionBytes else {
            throw .malformed(
                "the chunk extensions are longer than \(limits.chunkExtensionBytes) bytes"
            )
        }
    }

    private mutating func countTrailer(_ limits: HTTPServer.Limits) throws(RequestProblem) {
        trailerBytes += 1
        guard trailerBytes <= limits.trailerBytes else {
            throw .malformed("the trailer is longer than \(limits.trailerBytes) bytes")
        }
    }
}

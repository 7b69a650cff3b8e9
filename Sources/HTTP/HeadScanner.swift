import Glibc

/// Finds the end of a head that arrives in pieces, and never looks at a byte twice.
///
/// It also holds what must be judged before a head is complete: its size, and line ends that would
/// otherwise keep it from ever being complete. What it says depends on the bytes alone, not on how
/// they were cut.
struct HeadScanner {
    private(set) var fieldCount = 0
    private var scanned = 0
    private var lineStart = 0
    private var headStart = 0
    private var isInRequestLine = true
    private var hasSkippedLine = false

    /// Looks through everything that came since the last request, earlier pieces included, and tells
    /// where the head stands, with its blank line; nil when it is not complete.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) -> Range<Int>? {
        while scanned < bytes.count {
            try checkFirstByte(bytes)
            guard let lineEnd = bytes.firstIndex(of: .lineFeed, from: scanned) else { break }
            scanned = lineEnd + 1
            try checkSize(lineEnd: lineEnd, limits)
            guard lineEnd > lineStart, bytes[lineEnd - 1] == .carriageReturn else {
                throw .malformed("a line ends with LF alone; lines end with CRLF")
            }
            let isEmpty = lineEnd - 1 == lineStart
            lineStart = scanned
            if isInRequestLine {
                // RFC 9112 section 2.2: an empty line before the request line is left over from a
                // client that ends its bodies with one. More than one is no such thing.
                if isEmpty {
                    guard !hasSkippedLine else { throw .malformed("the request line is empty") }
                    hasSkippedLine = true
                    headStart = scanned
                } else {
                    isInRequestLine = false
                }
                continue
            }
            if isEmpty { return headStart..<scanned }
            fieldCount += 1
            guard fieldCount <= limits.headFields else {
                throw RequestProblem(
                    status: 431,
                    reason: "the head has more than \(limits.headFields) fields"
                )
            }
        }
        scanned = bytes.count
        try checkSize(lineEnd: bytes.count, limits)
        return nil
    }

    /// True if an empty line is all that came since the last request. The caller drops it, and passes
    /// only what follows from then on.
    mutating func takeEmptyLine() -> Bool {
        guard headStart > 0, scanned == headStart else { return false }
        self = HeadScanner()
        hasSkippedLine = true
        return true
    }

    // Whatever speaks another protocol here (TLS, usually) gets its answer at the first byte.
    private func checkFirstByte(_ bytes: UnsafeRawBufferPointer) throws(RequestProblem) {
        guard isInRequestLine, lineStart < bytes.count else { return }
        let first = bytes[lineStart]
        guard first.isToken || first == .carriageReturn else {
            throw .malformed(
                first == 0x16
                    ? "this port speaks plain HTTP, the client began a TLS handshake"
                    : "a request starts with its method"
            )
        }
    }

    // Before a line end is judged, so that a cut just before it makes no difference. `lineEnd` is
    // where the line feed is, or at the earliest may be.
    private func checkSize(
        lineEnd: Int,
        _ limits: HTTPServer.Limits
    ) throws(RequestProblem) {
        if isInRequestLine, lineEnd - 1 - lineStart > limits.requestLineBytes {
            throw RequestProblem(
                status: 414,
                reason: "the request line is longer than \(limits.requestLineBytes) bytes"
            )
        }
        if lineEnd + 1 - headStart > limits.headBytes {
            throw RequestProblem(
                status: 431,
                reason: "the head is longer than \(limits.headBytes) bytes"
            )
        }
    }
}

extension RequestProblem {
    static func malformed(_ reason: String) -> RequestProblem {
        RequestProblem(status: 400, reason: reason)
    }
}

extension UnsafeRawBufferPointer {
    /// memchr: five times the speed of a loop.
    fileprivate func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard let base = baseAddress, start < count,
            let found = memchr(base + start, CInt(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}

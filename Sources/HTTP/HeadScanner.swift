import Glibc

/// Finds the end of a head that arrives in pieces, and looks at each byte once.
///
/// It also checks what must be checked before a head is complete: its size, and line ends without
/// which it would never be complete. The result depends on the bytes alone, not on how reads divide
/// them.
struct HeadScanner {
    private(set) var fieldCount = 0
    private var scanned = 0
    private var lineStart = 0
    private var headStart = 0
    private var isInRequestLine = true
    private var hasSkippedLine = false

    /// Scans all bytes since the last request, earlier pieces included. Returns the head's range
    /// with its blank line; nil while the head is incomplete.
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
                // RFC 9112 section 2.2: one empty line before the request line is tolerated,
                // because some clients end bodies with one. More than one is malformed.
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

    /// True after an empty line alone. The caller drops it, and passes only the bytes after it.
    mutating func takeEmptyLine() -> Bool {
        guard headStart > 0, scanned == headStart else { return false }
        self = HeadScanner()
        hasSkippedLine = true
        return true
    }

    // A client of another protocol, usually TLS, gets its answer at the first byte.
    private func checkFirstByte(_ bytes: UnsafeRawBufferPointer) throws(RequestProblem) {
        guard isInRequestLine, lineStart < bytes.count else { return }
        let first = bytes[lineStart]
        guard first.isToken || first == .carriageReturn else {
            throw .malformed(
                first == 0x16
                    ? "this port speaks plain HTTP, but the client began a TLS handshake"
                    : "a request starts with its method"
            )
        }
    }

    // Checked before the line end is judged, so a cut just before it makes no difference. `lineEnd`
    // is the line feed's position, or the earliest possible one.
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

extension UnsafeRawBufferPointer {
    /// memchr is five times as fast as a loop.
    fileprivate func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard let base = baseAddress, start < count,
            let found = memchr(base + start, CInt(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}

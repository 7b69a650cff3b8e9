/// Memory of exactly their size, so that AddressSanitizer finds a read beyond them.
func exactly<Result, Failure: Error>(
    _ bytes: some Collection<UInt8>,
    _ use: (UnsafeRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try use(UnsafeRawBufferPointer(copy))
}

/// The 64 bytes behind a body, which only simdjson reads.
enum Beyond: CaseIterable {
    case nothing
    /// As if the body went on.
    case tempting

    private static let temptations = Array("}]\"1".utf8)

    func padded<Result, Failure: Error>(
        _ body: [UInt8],
        _ use: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let beyond = (0..<64).map { self == .nothing ? 0 : Self.temptations[$0 % 4] }
        return try exactly(body + beyond) { bytes throws(Failure) in
            try use(UnsafeRawBufferPointer(rebasing: bytes[..<body.count]))
        }
    }
}

/// Reads a body twice with one decoder. Neither what lies behind it nor what the decoder still has
/// of the first time may make a difference.
func readTwice<Value: Equatable, Failure: Error & Equatable>(
    _ body: [UInt8],
    _ read: (UnsafeRawBufferPointer) throws(Failure) -> Value
) throws(Contradiction) -> Result<Value, Failure> {
    let readings = Beyond.allCases.map { beyond in
        Result { () throws(Failure) in try beyond.padded(body, read) }
    }
    try check(readings[0] == readings[1], "one body, two readings: \(readings)")
    return readings[0]
}

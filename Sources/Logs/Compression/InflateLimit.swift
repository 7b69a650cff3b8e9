/// How far a body may grow when it is inflated.
package struct InflateLimit: Sendable, Equatable {
    /// SLS's own bound of a request.
    package var bytes = 10 << 20
    /// Bytes out for each byte in, beyond `freeBytes`. Logs shrink five- to twentyfold, the most
    /// repetitive ones fiftyfold; a bomb of zeros a thousandfold with deflate and far more with
    /// zstd. At 200, a client has to send fifty KiB to cause ten MiB of work.
    package var ratio = 200
    /// Up to here no ratio is suspicious, because the work is small.
    package var freeBytes = 1 << 20

    package init(bytes: Int = 10 << 20, ratio: Int = 200, freeBytes: Int = 1 << 20) {
        self.bytes = bytes
        self.ratio = ratio
        self.freeBytes = freeBytes
    }

    /// The most content of a body of this size.
    package func allowance(for compressed: Int) -> Int {
        min(bytes, max(freeBytes, compressed.multipliedReportingOverflow(by: ratio).partialValue))
    }

    /// The most that the logs of a body of this size may become when they repeat shared texts.
    /// Repeating could get around the bound for inflating, so it has the same measure.
    package func repeating(for sent: Int) -> Int { 2 * allowance(for: sent) }

    func exceeded(by compressed: Int) -> InflateError {
        allowance(for: compressed) == bytes
            ? .tooLarge(limit: bytes) : .suspiciousRatio(limit: ratio)
    }
}

/// Why a body cannot be inflated.
package enum InflateError: Error, Equatable, Sendable, CustomStringConvertible {
    case tooLarge(limit: Int)
    case suspiciousRatio(limit: Int)
    case corrupt(String)
    /// Nothing is wrong with it; the gateway has no memory for it now.
    case noMemory
    /// The content is not as long as the request says; nil when it is longer by an unknown amount.
    case sizeMismatch(declared: Int, actual: Int?)
    /// An lz4 block does not tell how large its content is.
    case sizeMissing

    package var description: String {
        switch self {
        case .tooLarge(let limit):
            "the inflated body exceeds \(limit) bytes; send smaller batches"
        case .suspiciousRatio(let limit):
            "the body inflates more than \(limit)-fold; send it uncompressed or in smaller batches"
        case .corrupt(let reason): reason
        case .noMemory: "the gateway has no memory to inflate the body now; send the logs again"
        case .sizeMismatch(let declared, let actual?):
            "the body holds \(actual) bytes, but x-log-bodyrawsize says \(declared)"
        case .sizeMismatch(let declared, nil):
            "the body holds more bytes than x-log-bodyrawsize says (\(declared))"
        case .sizeMissing:
            "a block of lz4 needs x-log-bodyrawsize, the size of its content in bytes; an lz4 frame does not"
        }
    }
}

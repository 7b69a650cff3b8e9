/// How a body is compressed on the wire; none is nil.
package enum ContentCoding: String, Sendable, CaseIterable {
    /// One raw block; its content's size must be told beside it.
    case lz4
    /// A zlib stream (RFC 1950), in SLS as in HTTP.
    case deflate
    case gzip
    case zstd
    /// One raw block, as Loki's clients send it; no header names it but theirs.
    case snappy

    /// As `x-log-compresstype` and `Content-Encoding` name them, in any case.
    package init?(name: String) {
        switch name.lowercased() {
        case "lz4": self = .lz4
        case "deflate": self = .deflate
        case "gzip", "x-gzip": self = .gzip
        case "zstd": self = .zstd
        default: return nil
        }
    }
}

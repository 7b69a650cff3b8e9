/// How a body is compressed on the wire; none is nil.
package enum ContentCoding: String, Sendable, CaseIterable {
    /// A frame (the LZ4 frame format), or one raw block as SLS's SDKs send it, whose content's size
    /// must be told beside it. No block begins as a frame does.
    case lz4
    /// A zlib stream (RFC 1950), in SLS as in HTTP.
    case deflate
    case gzip
    case zstd
    /// One raw block, or the framing format. No block begins as the framing format does.
    case snappy

    /// The names in `x-log-compresstype`, as SLS has them.
    package static let compressTypes: KeyValuePairs<String, ContentCoding> = [
        "lz4": .lz4, "deflate": .deflate, "gzip": .gzip, "zstd": .zstd, "x-gzip": .gzip,
    ]

    /// The names in `Content-Encoding`, the registered ones first. The Collector of OpenTelemetry
    /// calls deflate `zlib`; its `snappy` is framed in older versions and a block in newer ones,
    /// which say `x-snappy-framed` for frames.
    package static let contentEncodings: KeyValuePairs<String, ContentCoding> = [
        "gzip": .gzip, "x-gzip": .gzip, "deflate": .deflate, "zlib": .deflate, "zstd": .zstd,
        "lz4": .lz4, "snappy": .snappy, "x-snappy-framed": .snappy,
    ]

    /// A value of `x-log-compresstype`, in any case.
    package init?(compressType name: String) {
        self.init(name, among: Self.compressTypes)
    }

    /// A value of `Content-Encoding`, in any case.
    package init?(contentEncoding name: String) {
        self.init(name, among: Self.contentEncodings)
    }

    private init?(_ name: String, among names: KeyValuePairs<String, ContentCoding>) {
        let wanted = name.lowercased()
        guard let known = names.first(where: { $0.key == wanted }) else { return nil }
        self = known.value
    }
}

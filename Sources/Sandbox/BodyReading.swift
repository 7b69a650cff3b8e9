import Logs

extension ReceivedRequest {
    /// The uncompressed body of a signed write, of exactly the announced size. Valid until the
    /// inflater is used again.
    func rawBody(
        _ body: UnsafeRawBufferPointer,
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard let text = self["x-log-bodyrawsize"] else {
            throw SLSRefusal(
                400,
                "MissingBodyRawSize",
                "x-log-bodyrawsize does not exist in header when it is necessary."
            )
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let size = Int(text)
        else {
            throw SLSRefusal(400, "InvalidBodyRawSize", "x-log-bodyrawsize is invalid.")
        }
        return try inflated(body, size: size, inflater: inflater, limits: limits)
    }

    /// The body of an unsigned write. Browsers announce no size, or a size in UTF-16 units, so the
    /// announced size only matters for an lz4 block, which cannot be read without it.
    func rawTrackBody(
        _ body: UnsafeRawBufferPointer,
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard self["x-log-compresstype"] == nil else {
            return try rawBody(body, inflater: inflater, limits: limits)
        }
        return try inflated(body, size: body.count, inflater: inflater, limits: limits)
    }

    private func inflated(
        _ body: UnsafeRawBufferPointer,
        size: Int,
        inflater: Inflater,
        limits: SandboxConfiguration.Limits
    ) throws(SLSRefusal) -> UnsafeRawBufferPointer {
        guard size <= limits.rawBytesMax else {
            throw .tooLarge("Body size \(size) must little than \(limits.rawBytesMax).")
        }
        guard let type = self["x-log-compresstype"] else {
            guard size == body.count else {
                throw .badParameter(
                    "x-log-bodyrawsize is \(size), the body has \(body.count) bytes."
                )
            }
            return body
        }
        // Only these exact names: SLS knows neither "gzip" nor "LZ4".
        let codings: [String: ContentCoding] = ["lz4": .lz4, "deflate": .deflate, "zstd": .zstd]
        guard let coding = codings[type] else {
            throw SLSRefusal(
                400,
                "InvalidCompressType",
                "x-log-compresstype \(type) is unsupported."
            )
        }
        // Only the size is limited: in the sandbox a thousandfold expansion is no attack.
        let limit = InflateLimit(bytes: limits.rawBytesMax, freeBytes: limits.rawBytesMax)
        let raw: UnsafeRawBufferPointer
        do {
            raw = try inflater.inflate(body, coding, rawBytes: size, limit: limit)
        } catch {
            throw SLSRefusal(400, "PostBodyUncompressError", "Body uncompress fail: \(error).")
        }
        // The size is SLS's contract with the sender, so it is checked here and not left to the
        // inflater.
        guard raw.count == size else {
            throw SLSRefusal(
                400,
                "PostBodyUncompressError",
                "Body uncompress fail: \(raw.count) bytes, x-log-bodyrawsize is \(size)."
            )
        }
        return raw
    }
}

import CZlib

extension Inflater {
    /// The window is 15 for a zlib stream and 31 for gzip, as zlib counts. Raw deflate is not taken for `deflate`:
    ///   it has no checksum, and no SLS client sends it.
    func inflateZlib(
        _ body: UnsafeRawBufferPointer,
        window: CInt,
        _ bound: ContentBound
    ) throws(InflateError) -> Int {
        guard body.count <= Int(UInt32.max) else { throw .tooLarge(limit: Int(UInt32.max)) }
        try prepareZlib(window)
        let input = body.bindMemory(to: UInt8.self).baseAddress
        zlib.pointee.next_in = UnsafeMutablePointer(mutating: input)
        zlib.pointee.avail_in = UInt32(body.count)
        var produced = 0
        while true {
            let room = room(after: produced, bound)
            zlib.pointee.next_out = memory.start + produced
            zlib.pointee.avail_out = UInt32(clamping: room)
            let offered = Int(zlib.pointee.avail_out)
            let code = CZlib.inflate(zlib, Z_NO_FLUSH)
            let step = offered - Int(zlib.pointee.avail_out)
            produced += step
            producedBytes += step
            guard produced <= bound.bytes else { throw bound.error }
            switch code {
            case Z_OK: continue
            case Z_STREAM_END where zlib.pointee.avail_in == 0: return produced
            case Z_STREAM_END where window == 31:
                // RFC 1952: a gzip file is one member after the other.
                inflateReset(zlib)
            case Z_STREAM_END: throw .corrupt("bytes follow the end of the zlib stream")
            case Z_BUF_ERROR: throw .corrupt("the compressed body is cut off")
            case Z_NEED_DICT: throw .corrupt("the zlib stream needs a dictionary")
            case Z_MEM_ERROR: throw .noMemory
            default: throw .corrupt("the compressed body is damaged: \(zlibReason)")
            }
        }
    }

    private func prepareZlib(_ window: CInt) throws(InflateError) {
        let code =
            zlibIsReady
            ? inflateReset2(zlib, window)
            : inflateInit2_(zlib, window, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        // What else could be wrong would be with the library, and no fault of the body.
        guard code == Z_OK else { throw .noMemory }
        zlibIsReady = true
    }

    private var zlibReason: String {
        zlib.pointee.msg.map { String(cString: $0) } ?? "no details"
    }
}

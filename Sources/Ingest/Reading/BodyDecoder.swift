import Configuration
import HTTP
import Logs
import System

/// Inflates bodies, and owns the decoders of a thread.
struct BodyDecoder {
    let json: JSONLogDecoder
    let putLogs: PutLogsDecoder
    let otlp: OTLPDecoder
    let loki: LokiDecoder
    let query: QueryLogDecoder
    let lines: LineLogDecoder
    private let inflater = Inflater()
    /// The accepted values of `Content-Encoding`, as `Accept-Encoding` of a refusal lists them.
    static let contentEncodings =
        (ContentCoding.contentEncodings.map(\.key) + ["identity"]).joined(separator: ", ")
    let limit: InflateLimit

    init(_ limits: LimitSettings) {
        json = JSONLogDecoder(limits: limits.json)
        putLogs = PutLogsDecoder(limits: limits.json)
        otlp = OTLPDecoder(limits: limits.json)
        loki = LokiDecoder(limits: limits.json)
        query = QueryLogDecoder(limits: limits.json)
        lines = LineLogDecoder(limits: limits.json)
        limit = InflateLimit(bytes: limits.inflatedBytes, ratio: limits.inflateRatio)
    }

    /// The content of a body, inflated if it is compressed. Valid until the next call; 64 bytes
    /// after its end may be read. `own` is the dialect's compression of bodies whose head names
    /// none.
    func content(
        of body: UnsafeRawBufferPointer,
        _ head: RequestHead,
        _ own: ContentCoding? = nil
    ) throws(Refusal) -> UnsafeRawBufferPointer {
        guard let coding = try coding(head, own) else {
            guard body.count <= limit.bytes else {
                throw Refusal(InflateError.tooLarge(limit: limit.bytes))
            }
            return body
        }
        do throws(InflateError) {
            return try inflater.inflate(body, coding, rawBytes: try rawBytes(head), limit: limit)
        } catch {
            throw Refusal(error)
        }
    }

    /// Inflates a compressed body whose head does not declare the size of its content, and keeps
    /// the content for the next call of `content`. False: not inflated here, or larger than
    /// `bytes`.
    func prepareContent(
        of body: UnsafeRawBufferPointer,
        atMost bytes: Int,
        _ head: RequestHead,
        _ own: ContentCoding?
    ) -> Bool {
        guard let coding = try? coding(head, own), head.field("x-log-bodyrawsize") == nil,
            head.field("x-log-mode") != "batch_group"
        else { return false }
        return inflater.prepare(body, coding, limit: InflateLimit(bytes: min(bytes, limit.bytes)))
    }

    /// Refuses an empty body whose head describes content: no compression makes an empty body.
    func checkNotLost(_ body: UnsafeRawBufferPointer, _ head: RequestHead) throws(Refusal) {
        guard body.isEmpty, head.method == .post || head.method == .put else { return }
        let rawBytes = head.field("x-log-bodyrawsize").flatMap { Int($0) } ?? 0
        guard rawBytes > 0 || inflates(head, nil) else { return }
        throw .bodyLost
    }

    /// False also for a coding that is not known.
    func inflates(_ head: RequestHead, _ own: ContentCoding?) -> Bool {
        (try? coding(head, own)) != nil
    }

    /// An upper bound of the content's size, from the body's size and the head alone.
    func contentBytesMax(
        of bodyBytes: Int,
        _ head: RequestHead,
        _ own: ContentCoding?
    ) -> Int {
        // Each package is compressed by itself.
        guard head.field("x-log-mode") != "batch_group" else {
            return limit.allowance(for: bodyBytes)
        }
        // Not compressed, or refused before any work is done.
        guard (try? coding(head, own)) != nil else { return bodyBytes }
        // The inflater rejects content of another size.
        return (try? rawBytes(head)) ?? limit.allowance(for: bodyBytes)
    }

    /// The inflated bytes of all bodies so far, packages in them and failed ones included.
    var inflatedBytes: Int { inflater.producedBytes + putLogs.inflatedBytes }

    /// Called after the content was read, and before the body's memory gets another content. An
    /// idle handler does not keep the memory of a large body.
    func forget() {
        inflater.shrink()
    }

    /// SLS's own header takes precedence; web pages and agents use HTTP's.
    private func coding(
        _ head: RequestHead,
        _ own: ContentCoding?
    ) throws(Refusal) -> ContentCoding? {
        if let name = head.field("x-log-compresstype"), !name.isEmpty, name != "none" {
            guard let coding = ContentCoding(compressType: name) else {
                throw Refusal(
                    400,
                    "InvalidCompressType",
                    "x-log-compresstype \(clipped(name)) is not one of lz4, deflate, gzip, zstd"
                )
            }
            return coding
        }
        guard let name = head.field("content-encoding"), !name.isEmpty,
            name.lowercased() != "identity", name.lowercased() != own?.rawValue
        else { return own }
        guard let coding = ContentCoding(contentEncoding: name) else {
            throw Refusal(
                415,
                "InvalidCompressType",
                "Content-Encoding \(clipped(name)) is not one of \(Self.contentEncodings)"
            )
        }
        return coding
    }

    /// Used for compressed bodies only: for uncompressed JSON, browsers count UTF-16 units.
    private func rawBytes(_ head: RequestHead) throws(InflateError) -> Int? {
        guard let text = head.field("x-log-bodyrawsize") else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let size = Int(text) else {
            throw .corrupt("x-log-bodyrawsize \(clipped(text)) is not a number of bytes")
        }
        return size
    }
}

/// Recognises a body by its first bytes. The content type is unreliable: browsers send JSON as
/// `application/x-protobuf` or `text/plain`, and an SDK for phones sends protobuf as a form.
extension UnsafeRawBufferPointer {
    /// True: the body can only be a JSON object, a brace and then a name or the other brace. A
    /// LogGroup may begin with a line feed, which is blank in JSON, and a brace; a name does not
    /// follow there.
    var beginsAsObject: Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var rest = self[...]
        if rest.starts(with: mark) { rest = rest.dropFirst(mark.count) }
        rest = rest.drop(while: \.isBlank)
        guard rest.first == UInt8(ascii: "{") else { return false }
        rest = rest.dropFirst().drop(while: \.isBlank)
        return rest.first == UInt8(ascii: "\"") || rest.first == UInt8(ascii: "}")
    }

    /// True: the body is a LogGroup as SLS's SDKs write it, with a log first and the log's time
    /// first. No text has the byte that marks the time.
    var beginsAsLogGroup: Bool {
        guard count > 2, self[0] == 0x0A else { return false }
        var length = self[1...].prefix(5)
        while let byte = length.popFirst() {
            guard byte < 0x80 else { continue }
            let first = length.startIndex
            return first < count && self[first] == 0x08
        }
        return false
    }
}

extension UInt8 {
    /// White space of JSON.
    fileprivate var isBlank: Bool {
        self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09
    }
}

import HTTP
import Logs

/// SLS's web tracking: JSON to `POST /logstores/{logstore}/track`, and a log in the query of a GET,
/// possibly for an image.
struct TrackDialect: LogDialect {
    private enum Form {
        case track
        /// Answers with an image.
        case pixel
        /// Answers with an image, and adds the browser and the page to the log.
        case pixelWithBrowser
    }

    /// SLS's own limit.
    private static let queryBytesMax = 16 << 10

    /// Percent-encoded, in the head.
    private let logstore: Range<Int>
    private let form: Form

    var label: DeviceLabel { .track }
    var methods: DeviceMethods { form == .track ? .track : .look }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let path = LogstorePath(path, at: offset) else { return nil }
        if path.rest.equals("/track") {
            form = .track
        } else if path.rest.equals("/track.gif") {
            form = .pixel
        } else if path.rest.equals("/track_ua.gif") {
            form = .pixelWithBrowser
        } else {
            return nil
        }
        logstore = path.logstore
    }

    func admit(_ head: RequestHead) throws(Refusal) -> AddressedReader {
        let logstore = String(decoding: head.bytes[logstore], as: UTF8.self)
        guard head.method == .post else {
            return (.logstore(logstore), try queryReader(head, logstore))
        }
        try Refusal.checkNotMessagePack(head)
        return (.logstore(logstore), TrackBodyReader(logstore: logstore))
    }

    private func queryReader(
        _ head: RequestHead,
        _ logstore: String
    ) throws(Refusal) -> TrackQueryReader {
        guard (head.query?.count ?? 0) < Self.queryBytesMax else {
            throw .tooLarge("the query must be below 16 KiB; POST to /track takes more")
        }
        return TrackQueryReader(
            logstore: logstore,
            addsBrowser: form == .pixelWithBrowser,
            response: form == .track ? Response(status: 200) : .pixel
        )
    }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

private struct TrackBodyReader: LogReader {
    let logstore: String

    var tag: String? { logstore }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        // The iOS SDK sends protobuf without compression.
        let tracked = try Refusal.decoding(
            request.content.beginsAsLogGroup
                ? try decoder.putLogs.decode(request.body)
                : try decoder.json.decodeTracking(request.body)
        )
        return TakenLogs([LogGroup(tracked, request.target, tag: logstore)], of: request)
    }
}

/// Reads the log in the query of a GET.
private struct TrackQueryReader: LogReader {
    let logstore: String
    /// True: the browser and the page become fields of the log.
    let addsBrowser: Bool
    let response: Response

    var tag: String? { logstore }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        guard body.isEmpty else { throw .unwantedBody }
    }

    func read(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) -> TakenLogs {
        var taken = TakenLogs([])
        // HEAD must not store anything.
        if request.head.method == .get {
            let tracked = try logs(request, decoder.query)
            taken = TakenLogs([LogGroup(tracked, request.target, tag: logstore)], of: request)
        }
        // Without this, a cache would answer the next GET and the log would be lost.
        var response = response
        response.fields.append(("cache-control", "no-store"))
        taken.answer = { [response] _ in response }
        return taken
    }

    private func logs(
        _ request: LogRequest,
        _ decoder: QueryLogDecoder
    ) throws(Refusal) -> TrackedLogs {
        let head = request.head
        var body = request.body
        let query = head.query ?? 0..<0
        do throws(LogDecodingError) {
            return try head.bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
                body.bytes = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[query]))
                return try decoder.decode(
                    body,
                    adding: addsBrowser ? head.browserFields : [],
                    leavingOut: request.hidesKey ? RequestHead.keyParameter : nil
                )
            }
        } catch {
            throw .badParameter(error.reason)
        }
    }
}

extension RequestHead {
    /// The fields that `track_ua.gif` adds. SLS's documentation names the headers only; these are
    /// the field names in logs that SLS itself wrote.
    fileprivate var browserFields: [QueryLogDecoder.Field] {
        let headers: [(field: StaticString, header: StaticString)] = [
            ("__userAgent__", "user-agent"), ("__referer__", "referer"),
        ]
        return headers.compactMap { field, header in
            fieldRange(header).map { (field, Array(bytes[$0])) }
        }
    }
}

extension Response {
    /// A GIF of one transparent pixel, in 43 bytes.
    fileprivate static let pixel = Response(
        status: 200,
        fields: [("content-type", "image/gif")],
        body: [
            0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 0x01, 0x00, 0x01, 0x00, 0x80, 0x00, 0x00, 0x00,
            0x00,
            0x00, 0xFF, 0xFF, 0xFF, 0x21, 0xF9, 0x04, 0x01, 0x00, 0x00, 0x00, 0x00, 0x2C, 0x00,
            0x00,
            0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x02, 0x02, 0x44, 0x01, 0x00, 0x3B,
        ]
    )
}

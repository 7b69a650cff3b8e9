import HTTP
import Logs

/// SLS's web tracking: JSON to `POST /logstores/{logstore}/track`, and a log in the query of a GET, possibly for an
/// image.
struct TrackDialect: LogDialect {
    private enum Form {
        case track
        /// Answers with an image.
        case pixel
        /// The same, and adds the browser and the page to the log.
        case tellingPixel
    }

    /// Percent-encoded, in the head.
    let logstore: Range<Int>
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
            form = .tellingPixel
        } else {
            return nil
        }
        logstore = path.logstore
    }

    mutating func readHead(_ head: RequestHead) throws(Refusal) -> LogAddress {
        if head.method == .post {
            try Refusal.checkNotMessagePack(head.field("content-type")?.lowercased())
        } else {
            _ = try TrackedQuery(head)
        }
        return .logstore(String(decoding: head.bytes[logstore], as: UTF8.self))
    }

    func check(_ head: RequestHead, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        guard head.method == .post || body.isEmpty else { throw .unwantedBody }
    }

    func read(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) -> TakenLogs {
        switch request.head.method {
        // HEAD must not store anything.
        case .head: return answered(TakenLogs([]))
        case .get:
            let query = try TrackedQuery(request.head)
            let fields = form == .tellingPixel ? request.head.teller : []
            return answered(
                TakenLogs([try query.logs(adding: fields, request, reader.query)], of: request)
            )
        default: return try body(request, reader)
        }
    }

    private func body(
        _ request: LogRequest,
        _ reader: BodyDecoder
    ) throws(Refusal) -> TakenLogs {
        let (content, timing, rules) = (
            request.content, request.timing, request.rules
        )
        do throws(LogDecodingError) {
            // The iOS SDK sends this without compression.
            let tracked =
                content.beginsAsLogGroup
                ? try reader.putLogs.decode(content, timing, rules)
                : try reader.decoder.decodeTracking(content, timing, rules)
            return TakenLogs([tracked], of: request)
        } catch {
            throw Refusal(error)
        }
    }

    /// Without this, a cache would answer the next GET and the log would be lost.
    private func answered(_ taken: TakenLogs) -> TakenLogs {
        var taken = taken
        let response = form == .track ? Response(status: 200) : .pixel
        taken.accepted = { _ in
            var response = response
            response.fields.append(("cache-control", "no-store"))
            return response
        }
        return taken
    }

    func accepted(_ acceptance: Acceptance) -> Response { Response(status: 200) }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

extension RequestHead {
    /// The fields that `track_ua.gif` adds. SLS's documentation names the headers only; these are the field names in
    /// logs that SLS itself wrote.
    fileprivate var teller: [QueryLogDecoder.Field] {
        let told: [(field: StaticString, header: StaticString)] = [
            ("__userAgent__", "user-agent"), ("__referer__", "referer"),
        ]
        return told.compactMap { field, header in
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

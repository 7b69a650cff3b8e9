import HTTP
import Logs

/// `POST /logstores/{logstore}/track`: SLS web tracking.
struct TrackDialect: LogDialect {
    /// As it stands in the path.
    let logstore: Range<Int>

    var label: DeviceLabel { .track }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        let (start, end) = ("/logstores/".utf8.count, "/track".utf8.count)
        guard path.begins(with: "/logstores/"), path.ends(with: "/track"),
            path.count > start + end
        else { return nil }
        let name = start..<path.count - end
        guard !path[name].contains(UInt8(ascii: "/")) else { return nil }
        logstore = name.lowerBound + offset..<name.upperBound + offset
    }

    func address(_ head: RequestHead) -> LogAddress {
        .logstore(String(decoding: head.bytes[logstore], as: UTF8.self))
    }

    func read(_ request: LogRequest, _ reader: BodyReader) throws(Refusal) -> TakenLogs {
        do throws(LogDecodingError) {
            let tracked = try reader.decoder.decodeTracking(
                request.content,
                request.timing,
                request.target.intake.rules
            )
            return TakenLogs(tracked, of: request)
        } catch {
            throw Refusal(error)
        }
    }

    func accepted(_ acceptance: Acceptance) -> Response { Response(status: 200) }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

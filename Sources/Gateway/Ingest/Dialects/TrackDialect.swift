import HTTP
import Logs

/// `POST /logstores/{logstore}/track`: SLS web tracking.
struct TrackDialect: LogDialect {
    /// As it stands in the path.
    let logstore: Range<Int>

    var label: DeviceLabel { .track }
    var methods: DeviceMethods { .post }

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard let path = LogstorePath(path, at: offset), path.rest.equals("/track") else {
            return nil
        }
        logstore = path.logstore
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
            return TakenLogs([tracked], of: request)
        } catch {
            throw Refusal(error)
        }
    }

    func accepted(_ acceptance: Acceptance) -> Response { Response(status: 200) }

    func refused(_ refusal: Refusal) -> Response { ErrorShape.sls.response(refusal) }
}

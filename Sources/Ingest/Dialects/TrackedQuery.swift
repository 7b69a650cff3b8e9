import HTTP
import Logs

/// The query of a web tracking GET, within SLS's size limit.
struct TrackedQuery {
    private static let bytesMax = 16 << 10

    private let head: RequestHead

    init(_ head: RequestHead) throws(Refusal) {
        guard (head.query?.count ?? 0) < Self.bytesMax else {
            throw Refusal(
                413,
                "PostBodyTooLarge",
                "the query must be below 16 KiB; POST to /track takes more"
            )
        }
        self.head = head
    }

    func logs(
        adding fields: [QueryLogDecoder.Field],
        _ request: LogRequest,
        _ decoder: QueryLogDecoder
    ) throws(Refusal) -> TrackedLogs {
        let result: Result<TrackedLogs, LogDecodingError> = head.bytes.withUnsafeBytes { bytes in
            Result { () throws(LogDecodingError) in
                try decoder.decode(
                    UnsafeRawBufferPointer(rebasing: bytes[head.query ?? 0..<0]),
                    adding: fields,
                    leavingOut: request.hidesKey ? RequestHead.keyParameter : nil,
                    request.timing,
                    request.rules
                )
            }
        }
        do throws(LogDecodingError) {
            return try result.get()
        } catch {
            throw Refusal(400, "ParameterInvalid", error.reason)
        }
    }
}

import HTTPClient

extension AdminClient {
    /// How a stream ended.
    enum StreamEnd {
        /// The gateway gave another answer.
        case refused(AdminAnswer)
        case unreachable(Unreachable)
        /// The gateway ended the stream, or the connection broke.
        case over
        /// The consumer stopped, or the reader of standard output closed it.
        case left
    }

    /// The gateway sends something every 15 seconds.
    private static let silenceMax: Duration = .seconds(45)
    private static let refusalBytesMax = 64 << 10

    /// Passes the body of a 200 to the consumer piece by piece. Ends when the consumer stops or the
    /// reader of standard output closes it; the latter is noticed between two logs too.
    func follow(_ request: AdminRequest, take: @escaping ([UInt8]) -> Bool) -> StreamEnd {
        var refusal: [UInt8] = []
        var hasEnough = false
        let response = ResponseUse(
            headers: ["content-type"],
            body: .stream { head, piece in
                guard Self.isStream(head) else {
                    refusal += piece.prefix(Self.refusalBytesMax - refusal.count)
                    return true
                }
                hasEnough = !take(Array(piece))
                return !hasEnough
            }
        )
        do throws(Unreachable) {
            let outcome = try run(
                try transferRequest(request, keeping: response),
                stallTimeout: Self.silenceMax,
                untilOutputIsGone: true
            )
            guard let outcome, !hasEnough else { return .left }
            let head =
                switch outcome {
                case .answered(let response): response.head
                case .failed(let failure): failure.head
                }
            if Self.isStream(head) { return .over }
            if case .failed(let failure) = outcome, head.status == 0 {
                return .unreachable(unreachable(failure))
            }
            return .refused(AdminAnswer(status: head.status, body: refusal))
        } catch {
            return .unreachable(error)
        }
    }

    /// Something other than the gateway may answer.
    private static func isStream(_ head: TransferResponse.Head) -> Bool {
        head.status == 200
            && head["content-type"]?.lowercased().hasPrefix("text/event-stream") == true
    }
}

import HTTPClient

extension AdminClient {
    /// How an answer that comes over time ended.
    enum StreamEnd {
        /// The gateway answered something else.
        case refused(AdminAnswer)
        case unreachable(Unreachable)
        /// It had begun; the gateway ended it, or the way there broke.
        case over
        /// The consumer has enough, or the reader of standard output has closed it.
        case left
    }

    /// The gateway says something every 15 seconds.
    private static let silenceMax: Duration = .seconds(45)
    private static let refusalBytesMax = 64 << 10

    /// Gives the body of a 200 to the consumer piece by piece, until the consumer has enough or the reader of standard
    /// output closes it, which is noticed between two logs.
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

    /// Another server may be where the gateway is looked for.
    private static func isStream(_ head: TransferResponse.Head) -> Bool {
        head.status == 200
            && head["content-type"]?.lowercased().hasPrefix("text/event-stream") == true
    }
}

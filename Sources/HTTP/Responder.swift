/// The way back to the client that waits for an answer.
///
/// Cheap to copy and safe to use on any thread, also after the client has gone: then the answer
/// is dropped.
package struct Responder: Sendable {
    private enum Way: Sendable {
        case request(PendingAnswer)
        case function(@Sendable (Response) -> Void)
    }

    private let way: Way

    init(_ request: PendingAnswer) {
        way = .request(request)
    }

    /// For those who want to see the answer themselves. Such a responder has no streams.
    package init(_ deliver: @escaping @Sendable (Response) -> Void) {
        way = .function(deliver)
    }

    package func send(_ response: Response) {
        switch way {
        case .request(let request): request.answer(response)
        case .function(let deliver): deliver(response)
        }
    }

    /// Answers with a head now and a body that comes over time, whose first bytes are the head's.
    ///
    /// Nil where nobody wants a body (HEAD, 204, 304) or an answer was given already: there is nothing
    /// left to do. The stream takes at most `unsentBytesMax` bytes that the client has not read.
    package func stream(
        _ head: Response,
        unsentBytesMax: Int = 256 << 10
    ) -> ResponseStream? {
        switch way {
        case .request(let request):
            return request.stream(head, unsentBytesMax: unsentBytesMax)
        case .function(let deliver):
            deliver(head)
            return nil
        }
    }
}

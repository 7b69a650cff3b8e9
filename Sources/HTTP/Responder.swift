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

    /// Charges more memory to the request until it is answered: what was made of its body, and waits for something.
    /// To be called by the handler, before others have the request. False without room: then the request has to be
    /// refused.
    package func hold(_ bytes: Int) -> Bool {
        switch way {
        case .request(let request): request.hold(bytes)
        case .function: true
        }
    }

    /// Takes room for an answer of so many bytes, before something is done which that answer has to tell. To be called
    /// by the handler, as `hold`. False without room. `largest` is what a single address may always have.
    package func reserve(answerBytes: Int, largest: Int) -> Bool {
        switch way {
        case .request(let request): request.reserve(answerBytes, largest: largest)
        case .function: true
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

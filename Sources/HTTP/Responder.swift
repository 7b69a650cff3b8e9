package import System

/// The way back to the client that waits for an answer.
///
/// Cheap to copy and safe on any thread, even after the client has gone; the answer is then
/// dropped.
package struct Responder: Sendable {
    private enum Way: Sendable {
        case request(PendingAnswer)
        case function(@Sendable (Response) -> Void)
    }

    private let way: Way

    init(_ request: PendingAnswer) {
        way = .request(request)
    }

    /// Passes the answer to a function. Such a responder has no streams.
    package init(_ deliver: @escaping @Sendable (Response) -> Void) {
        way = .function(deliver)
    }

    /// The thread on which an answer costs least; nil if all are equal.
    package var thread: (any CallbackThread)? {
        switch way {
        case .request(let request): request.thread
        case .function: nil
        }
    }

    package func send(_ response: Response) {
        switch way {
        case .request(let request): request.answer(response)
        case .function(let deliver): deliver(response)
        }
    }

    /// Charges more memory to the request until it is answered: data made from its body that waits
    /// for something. The handler calls it before other threads get the request. Returns false
    /// without room; the handler must then refuse the request, or with `isNeeded` false do without
    /// that data.
    package func hold(_ bytes: Int, isNeeded: Bool = true) -> Bool {
        switch way {
        case .request(let request): request.hold(bytes, isNeeded: isNeeded)
        case .function: true
        }
    }

    /// Reserves room for the answer before the handler does work that the answer must report. The
    /// handler calls it, as `hold`. Returns false without room. `largest` is the size that a single
    /// address may always have.
    package func reserve(answerBytes: Int, largest: Int) -> Bool {
        switch way {
        case .request(let request): request.reserve(answerBytes, largest: largest)
        case .function: true
        }
    }

    /// Answers with a head now and a body that is written over time.
    ///
    /// Returns nil if the request wants no body (HEAD, 204, 304) or is already answered. The stream
    /// holds at most `unsentBytesMax` bytes that the client has not read.
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

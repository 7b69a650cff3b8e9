/// What a server does with requests. Each loop, and each thread for large requests, has a handler of its own, made by
/// the factory that `HTTPServer` is given, so a handler needs no locks and may keep scratch memory.
package protocol RequestHandler: AnyObject {
    /// Asked when a head is complete and before a byte of its body is read.
    ///
    /// A request without a body is admitted too. A refusal before the body closes the connection
    /// unless the body is small enough to be read and dropped.
    func admit(_ head: RequestHead) -> Admission

    /// The cost of a request that would hold its event loop for too long, as an upper bound of its content's bytes; nil
    /// for all others. If the server has worker threads (`largeRequestThreads`), one of them runs the large request with
    /// a handler of its own.
    func costIfLarge(_ head: RequestHead, bodyBytes: Int) -> Int?

    /// Called on the handler's thread when the whole body is there. The body is valid during the call
    /// only; 64 bytes after its end may be read (their content means nothing), which is what
    /// simdjson wants. The responder answers now or later, from any thread, exactly once.
    func handle(_ head: RequestHead, body: UnsafeRawBufferPointer, responder: Responder)

    /// The answer for a request that never reached `handle`: malformed, too large, too slow, or
    /// refused for lack of room. `head` is nil when it could not be read.
    func answer(to problem: RequestProblem, head: RequestHead?) -> Response

    /// Adds fields that every answer carries (a request id, the time), each as "name: value\r\n". The
    /// response tells which of them it brings itself.
    func stamp(_ fields: inout [UInt8], of response: Response)
}

extension RequestHandler {
    package func costIfLarge(_ head: RequestHead, bodyBytes: Int) -> Int? { nil }
}

package enum Admission: Sendable {
    /// Go on, with at most so many bytes of body. One that may hold a secret is wiped when it was handled, wherever
    /// it was on its way here; the caller's own copies are the caller's.
    case accept(bodyBytesMax: Int, isSecret: Bool = false)
    case refuse(Response)
}

/// Why the server itself refuses a request.
package struct RequestProblem: Error, Equatable, Sendable {
    /// 400, 408, 413, 414, 417, 431, 500, 501, 503 or 505.
    package let status: Int
    /// One sentence for the developer of the client.
    package let reason: String

    package init(status: Int, reason: String) {
        self.status = status
        self.reason = reason
    }
}

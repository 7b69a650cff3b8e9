/// What a server does with requests. Each loop, and each thread for large requests, has a handler of its own, made by
/// the factory that `HTTPServer` is given, so a handler needs no locks and may keep scratch memory.
package protocol RequestHandler: AnyObject {
    /// What a handler keeps about a request from its head until its answer.
    ///
    /// A worker's handler may get a value that a loop's handler made. A class, since a reference costs the loop nothing.
    typealias Admitted = any AnyObject & Sendable

    /// Called when a head is complete and before a byte of its body is read.
    ///
    /// A request without a body is admitted too. A refusal before the body closes the connection
    /// unless the body is small enough to be read and dropped.
    func admit(_ head: RequestHead) -> Admission

    /// An upper bound of the content's bytes, for a request that would hold its event loop for too long; nil for all
    /// others. If the server has worker threads (`largeRequestThreads`), one of them runs the large request with a
    /// handler of its own.
    func costIfLarge(_ head: RequestHead, _ admitted: Admitted?, bodyBytes: Int) -> Int?

    /// Called on the handler's thread when the whole body is there. The body is valid during the call
    /// only; 64 bytes after its end may be read (their content means nothing), which is what
    /// simdjson wants. The responder answers now or later, from any thread, exactly once.
    func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    )

    /// The answer for a request that never reached `handle`: malformed, too large, too slow, or
    /// refused for lack of room. `head` is nil when it could not be read, `admitted` when `admit` gave nothing or was not
    /// called.
    func answer(to problem: RequestProblem, head: RequestHead?, _ admitted: Admitted?) -> Response

    /// Adds fields that every answer carries (a request id, the time), each as "name: value\r\n". The
    /// response tells which of them it brings itself.
    func stamp(_ fields: inout [UInt8], of response: Response)
}

extension RequestHandler {
    package func costIfLarge(_ head: RequestHead, _ admitted: Admitted?, bodyBytes: Int) -> Int? {
        nil
    }
}

package enum Admission: Sendable {
    /// Read a body of at most so many bytes, then call `handle` with `admitted`.
    ///
    /// The server wipes its own copies of a body that may hold a secret; copies of the handler are the handler's.
    case accept(bodyBytesMax: Int, isSecret: Bool = false, admitted: RequestHandler.Admitted? = nil)
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

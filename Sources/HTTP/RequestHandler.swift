/// Gives requests their meaning. Each loop and each large-request thread has its own handler, made
/// by the factory that `HTTPServer` gets. So a handler needs no locks and may keep scratch memory.
package protocol RequestHandler: AnyObject {
    /// The handler's data about a request from its head until its answer.
    ///
    /// A worker's handler may get a value from a loop's handler. It is a class, because passing a
    /// reference costs the loop nothing.
    typealias Admitted = any AnyObject & Sendable

    /// Called when a head is complete, before any byte of its body is read.
    ///
    /// Requests without a body are admitted too. A refusal before the body closes the connection,
    /// unless the body is small enough to be read and dropped.
    func admit(_ head: RequestHead) -> Admission

    /// Decides where the request runs, and may inflate its body. Returns an upper bound of the
    /// content's bytes if a worker should run it; nil: the loop runs it. A worker
    /// (`largeRequestThreads`) has its own handler. The body is valid only during the call.
    func prepare(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer
    ) -> Int?

    /// Called on the handler's thread with the complete body, which is valid only during the call.
    /// The 64 bytes after it may be read, as simdjson does; their content is undefined. The
    /// responder answers exactly once, now or later, from any thread.
    func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    )

    /// The answer for a request that never reached `handle`: malformed, too large, too slow, or
    /// refused for lack of room. `head` is nil if it was unreadable, and `admitted` if `admit` gave
    /// none or was not called.
    func answer(to problem: RequestProblem, head: RequestHead?, _ admitted: Admitted?) -> Response

    /// Adds fields that every answer carries (a request id, the time), each as "name: value\r\n".
    /// The response shows which of them it has already.
    func stamp(_ fields: inout [UInt8], of response: Response)
}

extension RequestHandler {
    package func prepare(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer
    ) -> Int? { nil }
}

package enum Admission: Sendable {
    /// Read a body of at most this size, then call `handle` with `admitted`.
    ///
    /// The server wipes its own copies of a body that may hold a secret; the handler is responsible
    /// for its copies.
    case accept(bodyBytesMax: Int, isSecret: Bool = false, admitted: RequestHandler.Admitted? = nil)
    case refuse(Response)
}

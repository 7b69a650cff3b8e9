/// The way back to the client that waits for an answer.
///
/// Cheap to copy and safe to use on any thread, also after the client has gone: then the answer
/// is dropped.
package struct Responder: Sendable {
    private let deliver: @Sendable (Response) -> Void

    package init(_ deliver: @escaping @Sendable (Response) -> Void) {
        self.deliver = deliver
    }

    package func send(_ response: Response) {
        deliver(response)
    }
}

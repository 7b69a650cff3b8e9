/// The writer's end of a streamed answer; see `Responder.stream`.
///
/// Safe on any thread; no call waits. If the last reference goes without `finish`, or the server
/// stops, the connection ends so that an HTTP/1.1 client sees a truncated answer.
///
/// A quiet stream lives as long as its connection. Only the next writes detect a client that left
/// without a reset, so an idle writer should write something small now and then (a comment, a blank
/// line).
package final class ResponseStream: Sendable {
    let body: StreamedBody

    init(_ body: StreamedBody) {
        self.body = body
    }

    deinit { body.end(.cut) }

    /// False once the client has gone, the server stops, or the stream is finished. Costs one load.
    package var isOpen: Bool { body.isOpen }

    /// Appends all of the bytes or none. Returns false if the stream is closed, or if too many
    /// bytes are unsent; the writer then skips the bytes or ends.
    package func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { body.write($0) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        body.write(bytes)
    }

    /// Completes the answer. Bytes written before are still sent.
    package func finish() {
        body.end(.complete)
    }

    /// Calls the action once when the client has taken all that was written, or the stream has
    /// closed; at once if that is so already. It runs on the loop's thread, so it must be short.
    package func whenSent(_ action: @escaping @Sendable () -> Void) {
        body.whenSent(action)
    }

    /// Calls the action once when the stream closes, for any reason; at once if it is closed
    /// already. It runs on the loop's thread, so it must be short. A second action replaces the
    /// first.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        body.whenClosed(action)
    }
}

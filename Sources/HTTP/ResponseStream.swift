/// The writer's end of an answer whose body comes over time; see `Responder.stream`.
///
/// Safe to use on any thread; nothing here waits. Let go of without `finish`, it ends the connection
/// in a way that tells an HTTP/1.1 client that its answer is not whole. So does a stop of the server.
///
/// A quiet stream lives as long as its connection. A client that leaves without a reset is noticed by
/// the next writes only, so whoever has nothing to say says so now and then (a comment, a blank line).
package final class ResponseStream: Sendable {
    let body: StreamedBody

    init(_ body: StreamedBody) {
        self.body = body
    }

    deinit { body.end(.cut) }

    /// False once the client has gone, the server stops, or the stream was finished. Costs one load.
    package var isOpen: Bool { body.isOpen }

    /// Adds to the answer: all of it or nothing. False if the stream is not open, or if so much is
    /// unsent already that the bytes find no room; then the writer leaves them out or ends.
    package func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { body.write($0) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        body.write(bytes)
    }

    /// The answer is complete. What was written before is still sent.
    package func finish() {
        body.end(.complete)
    }

    /// Calls once, when nothing is taken any more, for whatever reason: on the loop's thread, so the
    /// action must be short; at once if that has happened already. A second action replaces the first.
    package func whenClosed(_ action: @escaping @Sendable () -> Void) {
        body.whenClosed(action)
    }
}

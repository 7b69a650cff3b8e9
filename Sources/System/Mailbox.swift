import Glibc

/// Messages from many threads to the one that owns the other end, taken all at once.
///
/// It carries no bound of its own: whoever posts holds a share of a bound already (in-flight bytes,
/// leases), and a post that could fail would need an answer at a place that has none.
package final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
    }

    private let state = Locked(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called after a post to an empty mailbox, on the posting thread.
    package init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    package func post(_ message: Message) {
        let wasEmpty = state.withLock { state in
            state.messages.append(message)
            return state.messages.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Everything posted so far, in order.
    package func takeAll() -> [Message] {
        state.withLock { state in
            let taken = state.messages
            state.messages = []
            return taken
        }
    }
}

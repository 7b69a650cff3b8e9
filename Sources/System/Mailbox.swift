import Glibc

/// A queue of messages from many threads to one owner, who takes all of them at once.
///
/// It has no bound of its own. Each sender already holds a share of a bound (bytes in flight,
/// leases), and a failed post would have no way to report the failure.
///
/// Public for the reason that `Locked` is.
public final class Mailbox<Message: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline
        var messages: [Message] = []
        @usableFromInline
        var isClosed = false

        @inlinable
        init() {}
    }

    @usableFromInline
    let state: Locked<State>
    @usableFromInline
    let wake: @Sendable () -> Void

    /// - Parameter wake: called after a post to an empty mailbox, on the posting thread.
    @inlinable
    public init(wake: @escaping @Sendable () -> Void) {
        state = Locked(State())
        self.wake = wake
    }

    /// Leaves a message for the owner, from any thread.
    @inlinable
    public func post(_ message: Message) {
        let wasEmpty = state.withLock { state in
            guard !state.isClosed else { return false }
            state.messages.append(message)
            return state.messages.count == 1
        }
        if wasEmpty { wake() }
    }

    /// The owner is gone: drops what it did not take and what is still posted. A message may refer
    /// to its sender, which holds the mailbox, and all of them would stay in memory.
    package func close() {
        let dropped = state.withLock { state in
            let dropped = state.messages
            (state.messages, state.isClosed) = ([], true)
            return dropped
        }
        // Freed without the lock: a message's end may post.
        withExtendedLifetime(dropped) {}
    }

    /// Everything posted so far, in order.
    @inlinable
    public func takeAll() -> [Message] {
        state.withLock { state in
            let taken = state.messages
            state.messages = []
            return taken
        }
    }
}

/// A thread that runs the callbacks of other threads.
package protocol CallbackThread: AnyObject, Sendable {
    /// Runs the callback there soon, after earlier ones; at once if the thread has ended. From any
    /// thread.
    func run(_ callback: @escaping @Sendable () -> Void)
}

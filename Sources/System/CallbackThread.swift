/// A thread that runs the callbacks of other threads.
package protocol CallbackThread: AnyObject, Sendable {
    /// Runs the callbacks there soon, in order. From any thread. If the thread has ended, they run
    /// at once.
    func run(_ callbacks: [@Sendable () -> Void])
}

/// Gathers callbacks and gives each thread its own in one go, so that it wakes once for all of
/// them.
package struct GatheredCallbacks {
    private var threads: [(thread: any CallbackThread, callbacks: [@Sendable () -> Void])] = []

    package init() {}

    /// Adds a callback. Without a thread it runs at once.
    package mutating func add(
        _ callback: @escaping @Sendable () -> Void,
        on thread: (any CallbackThread)?
    ) {
        guard let thread else { return callback() }
        // There are as many threads as cores.
        if let index = threads.firstIndex(where: { $0.thread === thread }) {
            threads[index].callbacks.append(callback)
        } else {
            threads.append((thread, [callback]))
        }
    }

    /// Gives all callbacks to their threads.
    package consuming func run() {
        for (thread, callbacks) in threads { thread.run(callbacks) }
    }
}

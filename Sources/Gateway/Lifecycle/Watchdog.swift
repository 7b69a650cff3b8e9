import System

/// A thread that shows that it takes its turns by a callback.
struct WatchedThread {
    let name: String
    /// Gives the thread a callback, without waiting.
    let call: (@escaping @Sendable () -> Void) -> Void
}

/// Tells the service manager that the gateway works while each thread on the way of a log takes its
/// turns. A manager that is not told for long enough restarts the gateway.
final class Watchdog {
    private let manager: ServiceManager
    private let journal: Journal
    /// The threads that were asked for a callback and have not called, since when.
    private let asked = Locked<[String: Moment]>([:])
    private var reported: Set<String> = []
    private var nextLook = Moment.now

    /// The time between two looks; nil if the manager has no watchdog.
    let pause: Duration?

    init(_ manager: ServiceManager, _ journal: Journal) {
        self.manager = manager
        self.journal = journal
        pause = manager.watchdogTime.map { $0 / 4 }
    }

    /// Once all threads have called, tells the manager and asks them again.
    /// Does nothing before the pause is over.
    func look(at threads: [WatchedThread]) {
        guard let pause, Moment.now >= nextLook else { return }
        nextLook = .now + pause
        let silent = asked.withLock { $0 }
        report(silent)
        guard silent.isEmpty else { return }
        manager.tell(.alive)
        // Only now: threads that are slow in turn would else keep the manager from being told.
        for thread in threads { ask(thread) }
    }

    private func ask(_ thread: WatchedThread) {
        let name = thread.name
        asked.withLock { $0[name] = .now }
        thread.call { [asked] in asked.withLock { $0[name] = nil } }
    }

    /// Once for each thread that does not call; the restart may follow.
    private func report(_ silent: [String: Moment]) {
        for (thread, since) in silent where reported.insert(thread).inserted {
            journal.warning(
                "a thread takes no turn; the service manager restarts the gateway if that lasts",
                ["thread": thread, "seconds": (Moment.now - since).components.seconds]
            )
        }
        reported.formIntersection(silent.keys)
    }
}

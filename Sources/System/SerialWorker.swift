import Synchronization

/// Where what may take its time is done while the gateway runs: one after the other, on a thread of its own. Changes
/// have one, since each may wait for the disk; proofs, which may wait for SLS; and long looks at the queue.
package final class SerialWorker: Sendable {
    package typealias Job = @Sendable () -> Void

    private let inbox: Mailbox<Job>
    private let wake: WakeUp
    private let waiting = Atomic<Int>(0)
    private let isStopping = Atomic<Bool>(false)
    private let worker = Locked<Worker?>(nil)
    private let name: String
    private let waitingMax: Int

    package init(_ name: String, waitingMax: Int = 64) throws(SystemError) {
        self.name = name
        self.waitingMax = waitingMax
        let wake = try WakeUp()
        self.wake = wake
        let inbox = Mailbox<Job> { wake.signal() }
        self.inbox = inbox
    }

    /// `tick` is called between changes, about as often as `pause` says.
    package func start(every pause: Duration? = nil, _ tick: @escaping Job = {}) throws(SystemError)
    {
        let worker = try Worker(name) { [self] in
            while !isEnding {
                wake.wait(timeout: pause)
                tick()
                for job in inbox.takeAll() where !isEnding {
                    job()
                    waiting.subtract(1, ordering: .relaxed)
                }
            }
        }
        self.worker.withLock { $0 = worker }
    }

    /// The change at hand has to come to its end.
    package var isEnding: Bool { isStopping.load(ordering: .acquiring) }

    /// False when too many wait already, or the gateway stops.
    package func post(_ job: @escaping Job) -> Bool {
        guard !isEnding, waiting.add(1, ordering: .relaxed).oldValue < waitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        inbox.post(job)
        return true
    }

    /// Returns when everything that was posted before is done, or nothing more will be.
    package func waitUntilHere() {
        guard let outcome = try? Promise<Void>(), post({ outcome.bring(()) }) else { return }
        while !isEnding, outcome.wait(atMost: .milliseconds(200)) == nil {}
    }

    /// Ends after the change at hand; those that wait are forgotten, and whoever asked gets no answer but that the
    /// gateway stopped.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        _ = inbox.takeAll()
    }
}

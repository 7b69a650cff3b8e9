import Synchronization

/// Runs slow jobs one after the other on its own thread. The gateway has one for changes, which may
/// wait for the disk, one for proofs of credentials, which may wait for SLS, and one for long reads
/// of the queue.
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

    /// Calls `tick` between jobs, about every `pause`.
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

    /// True once `stop` was called; the current job should end soon.
    package var isEnding: Bool { isStopping.load(ordering: .acquiring) }

    /// Returns false when too many jobs wait already, or the worker stops. A job that continues
    /// another one always has room.
    package func post(continuing: Bool = false, _ job: @escaping Job) -> Bool {
        guard !isEnding,
            waiting.add(1, ordering: .relaxed).oldValue < waitingMax || continuing
        else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        inbox.post(job)
        return true
    }

    /// Waits until all jobs posted so far are done, or the worker stops.
    package func waitUntilHere() {
        guard let outcome = try? Promise<Void>(), post({ outcome.bring(()) }) else { return }
        while !isEnding, outcome.wait(atMost: .milliseconds(200)) == nil {}
    }

    /// Ends after the current job. Waiting jobs are dropped; their callers learn only that the
    /// gateway stopped.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        _ = inbox.takeAll()
    }
}

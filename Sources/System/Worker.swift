import CSystem
import Glibc
import Synchronization

/// A named thread that runs one job.
package final class Worker: Sendable {
    private let thread: pthread_t

    private final class Job {
        let name: String
        let nice: Int
        let body: @Sendable () -> Void

        init(name: String, nice: Int, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.nice = nice
            self.body = body
        }
    }

    /// Starts at once. The thread blocks all signals; a thread that wants them asks for them (see
    /// `Signals`). `nice` is added to the process's nice value: the thread yields to the process's
    /// others while all cores are busy.
    package init(
        _ name: String,
        nice: Int = 0,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let job = Unmanaged.passRetained(Job(name: name, nice: nice, body: body))
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                let job = Unmanaged<Job>.fromOpaque(context).takeRetainedValue()
                sluice_name_thread(job.name)
                // On Linux this concerns the calling thread alone, and anybody may raise the value.
                if job.nice > 0 { _ = Glibc.nice(CInt(job.nice)) }
                job.body()
                return nil
            },
            job.toOpaque()
        )
        guard code == 0 else {
            job.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        self.thread = thread
    }

    /// Waits until the job is done. Call either this or `leave`, once.
    package func join() {
        pthread_join(thread, nil)
    }

    /// Detaches the thread, which frees its resources when its job is done.
    package func leave() {
        pthread_detach(thread)
    }
}

/// The number of cores that threads may share.
package var coreCount: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }

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

    /// False when too many jobs wait, or the worker stops. A continuing job always has room.
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

    /// Ends after the current job. The callers of dropped jobs learn that the gateway stopped.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        // For good: another thread may have found the worker running, and not have posted yet.
        inbox.close()
    }
}

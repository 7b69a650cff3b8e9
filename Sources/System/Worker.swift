import CSystem
import Glibc

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

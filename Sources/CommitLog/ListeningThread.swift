import Synchronization
import System

/// The thread on which a messenger listens, until it is stopped.
final class ListeningThread: Sendable {
    private let isStopping = Atomic<Bool>(false)
    private let worker = Locked<Worker?>(nil)
    /// Signalled by `stop`.
    let ending: WakeUp

    init() throws(CommitLogError) {
        do throws(SystemError) {
            ending = try WakeUp()
        } catch {
            throw CommitLogError(.unreachable, error.description)
        }
    }

    var hasEnded: Bool { isStopping.load(ordering: .acquiring) }

    func start(_ body: @escaping @Sendable () -> Void) throws(CommitLogError) {
        do throws(SystemError) {
            let started = try Worker("messages", body)
            worker.withLock { $0 = started }
        } catch {
            throw CommitLogError(.unreachable, error.description)
        }
    }

    /// Waits so long, or until `stop`.
    func pause(_ time: Duration) { ending.wait(timeout: time) }

    /// Ends pauses, calls `wake` to end what else the thread waits for, and waits for the thread.
    func stop(_ wake: () -> Void = {}) {
        isStopping.store(true, ordering: .releasing)
        ending.signal()
        wake()
        worker.withLock { $0.take() }?.join()
    }
}

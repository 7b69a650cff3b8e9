import SLS
import Synchronization
import System

/// The thread that keeps one source's credential current. It asks the source before the credential
/// ends, when a file changes, and again after a failure. Only `stop` waits for it.
final class SourceThread: Sendable {
    private let name: String
    private let source: CredentialSource
    private let fetch: CredentialFetch
    private let keeper: CredentialKeeper
    private let interruption: Interruption
    private let wake: WakeUp
    private let ended: WakeUp
    private let isBegun = Atomic(false)
    private let isEnded = Atomic(false)
    private let isWanted = Atomic(false)
    private let worker = Locked<Worker?>(nil)

    /// The interval between checks of watched files.
    static let fileInterval: Duration = .seconds(1)
    /// The minimum time between calls, however often a refresh is requested.
    static let callInterval: Duration = .seconds(10)
    /// The longest delay of `stop` by a call that cannot be interrupted, such as a read from an
    /// unreachable file server.
    static let stopPatience: Duration = .seconds(2)

    /// Prepares everything, but does nothing before `begin`.
    init(
        _ name: String,
        _ source: CredentialSource,
        for keeper: CredentialKeeper
    ) throws(SystemError) {
        self.name = name
        self.source = source
        self.keeper = keeper
        interruption = try Interruption()
        wake = try WakeUp()
        ended = try WakeUp()
        fetch = CredentialFetch(keeper.context, interruption: interruption) { other in
            other == name ? nil : keeper.credential(named: other)
        }
        let worker = try Worker("credential") { [self] in
            run()
            isEnded.store(true, ordering: .releasing)
            ended.signal()
        }
        self.worker.withLock { $0 = worker }
    }

    func begin() {
        isBegun.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Asks the source soon.
    func refresh() {
        isWanted.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Ends all of them, even in the middle of a call. A thread that is stuck in the kernel is left
    /// behind: it reports nothing more and ends when the kernel returns.
    static func stop(_ threads: [SourceThread]) {
        for thread in threads {
            thread.interruption.set()
            thread.wake.signal()
        }
        let deadline = Moment.now + stopPatience
        for thread in threads { thread.awaitEnd(until: deadline) }
    }

    private func awaitEnd(until deadline: Moment) {
        while !isEnded.load(ordering: .acquiring) {
            let left = deadline - .now
            guard left > .zero else {
                worker.withLock { $0.take() }?.leave()
                return
            }
            ended.wait(timeout: left)
        }
        worker.withLock { $0.take() }?.join()
    }

    private func run() {
        while !isBegun.load(ordering: .acquiring) {
            guard !interruption.isSet else { return }
            wake.wait()
        }
        var schedule = RefreshSchedule(files: fetch.watchedFiles(of: source))
        var asked = source
        while !interruption.isSet {
            let now = fetch.now
            schedule.look(now, fetch.context.clock.moment())
            if isWanted.exchange(false, ordering: .acquiringAndReleasing) {
                schedule.moveForward(to: now)
            }
            if schedule.isDue(now) {
                schedule.begin(now)
                keeper.table.withLock { $0.beginRefresh(name) }
                ask(&asked, &schedule)
                keeper.table.withLock { $0.plan(name, nextTry: schedule.due) }
            } else {
                fetch.context.clock.sleep(wake, schedule.nextLook(now))
            }
        }
    }

    /// Asks the source. A chain keeps the link that worked.
    private func ask(_ asked: inout CredentialSource, _ schedule: inout RefreshSchedule) {
        let random = fetch.context.random()
        do throws(SourceProblem) {
            let supplied: SuppliedCredential
            if asked == .chain {
                let found = try fetch.askChain()
                (supplied, asked) = (found.supplied, found.link)
                schedule.watch(fetch.watchedFiles(of: asked))
            } else {
                supplied = try fetch.credential(from: asked)
            }
            guard !interruption.isSet else { return }
            let (kept, isRefused) = keeper.take(supplied, name) ?? (supplied, false)
            schedule.succeed(fetch.now, kept, isRefused: isRefused, random: random)
        } catch {
            guard !interruption.isSet else { return }
            let failures = keeper.fail(name, error)
            let wait = RetryPace.wait(error.kind, after: failures, random: random)
            schedule.fail(fetch.now, wait: wait)
        }
    }
}

import SLS
import Synchronization
import System

/// The thread that keeps one source's credential current. It asks the source before the credential
/// ends, when a file changes, and again after a failure. Only `stop` waits for it.
final class Attendant: Sendable {
    /// Callbacks to the keeper.
    struct Reports: Sendable {
        var begin: @Sendable () -> Void
        /// Stores a credential. Returns the credential now in the table, whose end counts, and
        /// whether SLS refuses it.
        var take: @Sendable (SuppliedCredential) -> (kept: SuppliedCredential, isRefused: Bool)?
        /// Records a failure; returns the number of failures in a row.
        var fail: @Sendable (SourceProblem) -> Int
        var plan: @Sendable (WallTime?) -> Void
    }

    private let source: CredentialSource
    private let visit: SourceVisit
    private let reports: Reports
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
        _ surroundings: Surroundings,
        lookup: @escaping @Sendable (String) -> Credential?,
        reports: Reports
    ) throws(SystemError) {
        self.source = source
        self.reports = reports
        interruption = try Interruption()
        wake = try WakeUp()
        ended = try WakeUp()
        visit = SourceVisit(surroundings, interruption: interruption, lookup: lookup)
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
    static func stop(_ attendants: [Attendant]) {
        for attendant in attendants {
            attendant.interruption.set()
            attendant.wake.signal()
        }
        let deadline = Moment.now + stopPatience
        for attendant in attendants { attendant.awaitEnd(until: deadline) }
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
        var schedule = RefreshSchedule(files: visit.watchedFiles(of: source))
        var asked = source
        while !interruption.isSet {
            let now = visit.now
            schedule.look(now, visit.surroundings.clock.moment())
            if isWanted.exchange(false, ordering: .acquiringAndReleasing) {
                schedule.moveForward(to: now)
            }
            if schedule.isDue(now) {
                schedule.begin(now)
                reports.begin()
                ask(&asked, &schedule)
                reports.plan(schedule.due)
            } else {
                visit.surroundings.clock.sleep(wake, schedule.nextLook(now))
            }
        }
    }

    /// Asks the source. A chain keeps the link that worked.
    private func ask(_ asked: inout CredentialSource, _ schedule: inout RefreshSchedule) {
        let random = visit.surroundings.random()
        do throws(SourceProblem) {
            let supplied: SuppliedCredential
            if asked == .chain {
                let found = try visit.askChain()
                (supplied, asked) = (found.supplied, found.link)
                schedule.watch(visit.watchedFiles(of: asked))
            } else {
                supplied = try visit.fetch(asked)
            }
            guard !interruption.isSet else { return }
            let (kept, isRefused) = reports.take(supplied) ?? (supplied, false)
            schedule.succeed(visit.now, kept, isRefused: isRefused, random: random)
        } catch {
            guard !interruption.isSet else { return }
            let failures = reports.fail(error)
            let wait = RetryPace.wait(error.kind, after: failures, random: random)
            schedule.fail(visit.now, wait: wait)
        }
    }
}

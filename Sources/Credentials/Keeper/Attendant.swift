import SLS
import Synchronization
import System

/// The thread that keeps one source's credential current: asks it before the end, when a file changes,
/// and again after a failure. Nobody ever waits for it but who stops it.
final class Attendant: Sendable {
    /// What it tells its keeper.
    struct Reports: Sendable {
        var begin: @Sendable () -> Void
        /// The credential in the table after it, whose end counts, and whether SLS refuses that one.
        var take: @Sendable (SuppliedCredential) -> (kept: SuppliedCredential, isRefused: Bool)?
        /// How many failures in a row.
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

    /// Files are looked at that often.
    static let fileInterval: Duration = .seconds(1)
    /// So far apart are calls at least, however often somebody asks.
    static let callInterval: Duration = .seconds(10)
    /// So long may what cannot be interrupted hold up a stop: a file on a server that is away.
    static let stopPatience: Duration = .seconds(2)

    /// Has all it needs and does nothing before it is told to begin.
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

    /// Ends all of them, also in the middle of a call. A thread that the kernel keeps is left behind: it reports
    /// nothing any more, and ends when it is let go.
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
            if isWanted.exchange(false, ordering: .acquiringAndReleasing) { schedule.hasten(now) }
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

    /// A chain stays with the link that worked.
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

import CommitLog
import Queue
import Synchronization
import System

/// The decisions of operators, which all gateways of a cluster share: pauses, settings, pushed
/// credentials, and the audit log. Each decision is one entry of a log that all gateways append to;
/// the fence puts them into one order, in which all apply them.
final class ControlLog: Decisions {
    /// How often the log is read: another gateway's decision is unknown for so long.
    static let lookEvery = Duration.seconds(1)
    private static let waitingMax = 64
    private static let readBytes = 4 << 20

    private struct Request: Sendable {
        let decision: Decision
        let deadline: Moment
        let answer: @Sendable (DecisionRefusal?) -> Void
    }

    private struct Shared {
        var state = ControlState()
        var receiver: @Sendable () -> Void = {}
        /// The receiver does not know all of the state.
        var isUntold = false
    }

    private let log: any EngineLog
    private let node: String
    private let patience: Duration
    private let journal: Journal
    private let shared = Locked(Shared())
    private let mailbox: Mailbox<Request>
    private let waiting = Atomic<Int>(0)
    private let isStopping = Atomic<Bool>(false)
    private let wake: WakeUp
    private let worker = Locked<Worker?>(nil)
    /// Makes this gateway's appends different from all others.
    private let incarnation = UInt64.random(in: 1...UInt64.max)
    private let lastCommit = Atomic<UInt64>(0)
    private let isCutOff = Atomic<Bool>(false)

    /// A decision is tried for `patience` while the engine does not confirm it.
    init(
        _ log: any EngineLog,
        node: String,
        patience: Duration,
        _ journal: Journal
    ) throws(SystemError) {
        let wake = try WakeUp()
        self.wake = wake
        mailbox = Mailbox { wake.signal() }
        self.log = log
        self.node = node
        self.patience = patience
        self.journal = journal
    }

    /// Reads all decisions, and follows those that come.
    func open() throws(CommitLogError) {
        try log.open(makes: true)
        try readNews()
        guard worker.withLock({ $0 == nil }) else { return }
        let started = try CommitLogError.onSystem(.refused) { () throws(SystemError) in
            try Worker("control") { [self] in run() }
        }
        worker.withLock { $0 = started }
    }

    func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        refuseRest()
        // The receiver may hold the queue, which holds this.
        shared.withLock { $0.receiver = {} }
    }

    // MARK: - For any thread

    var areDecisionsShared: Bool { true }

    var settings: [String: [UInt8]] { shared.withLock(\.state.settings) }

    func recall(
        _ answer: @escaping @Sendable (Result<[String: [UInt8]], QueueError>) -> Void
    ) {
        answer(.success(settings))
    }

    func entries(before id: Int64?, limit: Int) -> [AuditRecord] {
        shared.withLock { $0.state.entries(before: id, limit: limit) }
    }

    func audit(
        before id: Int64?,
        limit: Int,
        _ answer: @escaping @Sendable (Result<[AuditRecord], QueueError>) -> Void
    ) {
        answer(.success(entries(before: id, limit: limit)))
    }

    /// The receiver is called on this log's thread.
    func followDecisions(_ receiver: @escaping @Sendable () -> Void) {
        shared.withLock { shared in
            shared.receiver = receiver
            shared.isUntold = true
        }
        wake.signal()
    }

    func decide(
        _ decision: Decision,
        whenDurable answer: @escaping @Sendable (DecisionRefusal?) -> Void
    ) {
        guard decision.isReasonable else { return answer(.tooLarge) }
        guard !isStopping.load(ordering: .acquiring) else { return answer(.queue(.stopping)) }
        guard waiting.add(1, ordering: .relaxed).oldValue < Self.waitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return answer(.busy)
        }
        mailbox.post(Request(decision: decision, deadline: .now + patience, answer: answer))
        // The thread may have ended since the look.
        if isStopping.load(ordering: .sequentiallyConsistent) { refuseRest() }
    }

    private func refuseRest() {
        for request in mailbox.takeAll() { request.answer(.queue(.stopping)) }
    }

    // MARK: - The thread

    private func run() {
        while !isStopping.load(ordering: .acquiring) {
            // `append` waits for the same signal, and may use up that of a new request.
            var requests = mailbox.takeAll()
            while !requests.isEmpty {
                for request in requests {
                    waiting.subtract(1, ordering: .relaxed)
                    request.answer(carryOut(request))
                }
                requests = mailbox.takeAll()
            }
            look()
            trim()
            wake.wait(timeout: Self.lookEvery)
        }
    }

    private func look() {
        do throws(CommitLogError) {
            // What an earlier look had read before it failed is told, too.
            defer { tell() }
            try readNews()
            if isCutOff.exchange(false, ordering: .relaxed) {
                journal.info("decisions of the cluster can be read again")
            }
        } catch {
            guard !isCutOff.exchange(true, ordering: .relaxed) else { return }
            journal.warning(
                "decisions of the cluster cannot be read",
                ["reason": error.description]
            )
        }
    }

    private func tell() {
        let receiver = shared.withLock { shared in
            defer { shared.isUntold = false }
            return shared.isUntold ? shared.receiver : nil
        }
        receiver?()
    }

    /// Reads on. Returns true if the append `own` is there.
    @discardableResult
    private func readNews(besides own: AppendID? = nil) throws(CommitLogError) -> Bool {
        var hasOwn = false
        while true {
            let from = shared.withLock { $0.state.end + 1 }
            let entries = try log.read(from: from, atMost: Self.readBytes)
            guard !entries.isEmpty else { return hasOwn }
            for stored in entries {
                let id = try take(stored)
                if own != nil, id == own {
                    hasOwn = true
                } else {
                    shared.withLock { $0.isUntold = true }
                }
            }
        }
    }

    private static let remedy =
        "compare pauses, settings and credentials with those that you want, and make the missing ones again"

    /// Returns the append that it came from.
    private func take(_ stored: NumberedEntry) throws(CommitLogError) -> AppendID? {
        do throws(CommitLogError) {
            let entry = try CommitEntry(stored.bytes)
            guard entry.kind == .decision else {
                throw .newer("entry \(stored.number) is no decision")
            }
            let decision = try ControlEntry(body: Array(entry.body))
            let missing = shared.withLock {
                $0.state.take(decision, stored.number, bytes: stored.bytes.count)
            }
            if !missing.isEmpty {
                journal.error(
                    "decisions are missing in the control log",
                    [
                        "entries": "\(missing.lowerBound) to \(missing.upperBound - 1)",
                        "remedy": Self.remedy,
                    ]
                )
            }
            return entry.id
        } catch {
            guard error.kind != .newer else { throw error }
            journal.error(
                "a decision in the control log cannot be read",
                [
                    "entry": stored.number, "reason": error.description,
                    "remedy": Self.remedy,
                ]
            )
            shared.withLock { $0.state.skip(stored.number, bytes: stored.bytes.count) }
            return nil
        }
    }

    /// Appends a decision behind all others. Returns why that is not possible; nil: it is durable.
    private func carryOut(_ request: Request) -> DecisionRefusal? {
        guard !isStopping.load(ordering: .acquiring) else { return .queue(.stopping) }
        let decision = request.decision
        let entry = ControlEntry(decision, time: .now, node: node)
        guard entry.body.count <= ControlEntry.bytesMax else { return .tooLarge }
        return append(entry, until: request.deadline) { state in
            state.hasRoom(for: decision) ? nil : .tooManySettings
        }
    }

    private func append(
        _ entry: ControlEntry,
        until deadline: Moment,
        _ check: (ControlState) -> DecisionRefusal?
    ) -> DecisionRefusal? {
        let id = AppendID(
            writer: incarnation,
            epoch: 1,
            commit: lastCommit.add(1, ordering: .relaxed).newValue
        )
        let part = CommitEntry(.decision, schema: 1, id: id, body: entry.body[...]).bytes
        while true {
            let state = shared.withLock(\.state)
            if let refusal = check(state) { return refusal }
            switch log.append([part], after: state.end, id: id, until: deadline) {
            case .appended(let number):
                _ = shared.withLock { $0.state.take(entry, number, bytes: part.count) }
                return nil
            case .noRoom: return .queue(.diskFull)
            case .refused: return .queue(.failing)
            case .fenced, .unknown, .unreachable: break
            }
            // Another gateway was first, or this append has come through after all.
            do throws(CommitLogError) {
                if try readNews(besides: id) { return nil }
            } catch {
                guard error.kind == .unreachable else { return .queue(.failing) }
            }
            guard .now < deadline, !isStopping.load(ordering: .acquiring) else {
                return .queue(.failing)
            }
            wake.wait(timeout: .milliseconds(.random(in: 20...100)))
        }
    }

    // MARK: - Trimming

    /// Repeats old settings that still count, and removes old entries.
    private func trim() {
        guard let cut = shared.withLock(\.state.cut) else { return }
        for (name, value) in shared.withLock({ $0.state.old(before: cut) }) {
            let kept = ControlEntry(keeping: name, value, time: .now, node: node)
            let refusal = append(kept, until: .now + patience) { state in
                // Meanwhile another gateway may have repeated or changed it.
                state.old(before: cut).contains { $0.name == name } ? nil : .busy
            }
            guard refusal == nil || refusal == .busy else { return }
        }
        do throws(CommitLogError) {
            try log.trimAll(before: cut)
            shared.withLock { $0.state.trimmed(before: cut) }
        } catch {
            // The next look tries again.
        }
    }
}

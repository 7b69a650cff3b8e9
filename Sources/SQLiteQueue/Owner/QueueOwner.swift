import Queue
import SQLite
import System

/// The thread that owns the writing connection. It takes all waiting work, runs one transaction,
/// and answers every request in it when the transaction is durable.
///
/// State that must survive a failed write lives here and in the owner's parts, the rest in
/// `OpenStore`.
final class QueueOwner {
    let handle: QueueHandle
    let keeper: StoreKeeper
    let delivery: DeliveryWork
    var appends = Fifo<Append>()
    var letters: LetterWork
    var decisions = DecisionWork()
    var shardWork = ShardWork()
    private var questions = StreamQuestions()
    var announcer: QueueAnnouncer
    var board = StatusBoard()
    var schedule: OwnerSchedule
    private var takenRequests = 0
    private(set) var isStopping = false
    /// An append to the commit log takes long, and batches are refused meanwhile.
    var isSlow = false
    /// Another gateway has the shard.
    private var isLost = false
    let journal: Journal
    let clock: QueueClock

    init(
        _ configuration: QueueConfiguration,
        _ handle: QueueHandle,
        clock: QueueClock,
        _ journal: Journal
    ) throws(QueueError) {
        self.handle = handle
        self.clock = clock
        self.journal = journal
        schedule = OwnerSchedule(configuration.tuning)
        keeper = try StoreKeeper(CurrentConfiguration(configuration), clock, journal)
        delivery = DeliveryWork(handle, journal)
        letters = LetterWork(journal)
        announcer = QueueAnnouncer(journal)
        keeper.shardLog?.whenSlow = { [unowned self] reason in refuseMeanwhile(because: reason) }
        try open()
        publish()
    }

    var store: OpenStore? { keeper.store }
    var configuration: QueueConfiguration { keeper.current.value }

    func run() {
        while true {
            let hasNews = takeMessages()
            turn()
            if isStopping, appends.isEmpty { break }
            questions.answerOne(from: store)
            doHousekeeping(isQuiet: !hasNews)
            if hasMore { schedule.commitReason = .moreWaits } else { wait() }
        }
        shutDown()
    }

    // MARK: - Waiting

    /// True if there is work that no message asks for.
    var hasMore: Bool {
        if !appends.isEmpty || !letters.isEmpty || !decisions.isEmpty || !questions.isEmpty
            || !shardWork.isEmpty || delivery.isolations.hasMore || keeper.isBehind
        {
            return true
        }
        return store.map { $0.overflow.needsRoom || $0.expiry.isUnderWay } ?? false
    }

    /// The time until the next work that no message asks for.
    var pause: Duration {
        // Housekeeping needs the store. While it is closed, housekeeping only becomes overdue.
        guard let store else { return keeper.failures.pause }
        var pause = schedule.untilHousekeeping
        if delivery.isAsking, let due = store.handOver.nextDue {
            pause = min(pause, due - clock.now())
        }
        if let base = keeper.shardLog?.base.untilNext { pause = min(pause, base) }
        return store.files.hasSpareSpace ? min(pause, Self.givingBackPause) : pause
    }

    private static let givingBackPause = Duration.milliseconds(20)

    private func wait() {
        handle.wake.wait(timeout: pause)
        while !isStopping {
            let here = handle.requests.total - takenRequests
            let (time, count): (Duration, Int)
            switch schedule.linger.decide(requests: here, bytes: handle.waitingBytes, at: .now) {
            case .commit(let reason):
                schedule.commitReason = reason
                return
            case .wait(let most, let requests): (time, count) = (most, requests)
            }
            if handle.requests.wakeOwner(at: takenRequests + count) {
                handle.wake.wait(timeout: time)
            }
            handle.requests.wakeOwnerNoMore()
        }
    }

    // MARK: - Messages

    func takeMessages() -> Bool {
        let messages = handle.mailbox.takeAll()
        for message in messages {
            switch message {
            case .append(let append):
                appends.append(append)
                takenRequests += 1
            case .delivery(let request): delivery.take(request, store)
            case .unreadable(let number): delivery.takeUnreadable(number)
            case .apply(let rules, let bounds): apply(rules, bounds)
            case .letters(let request): letters.add(request)
            case .decision(let request): decisions.add(request)
            case .list(let question): questions.add(question)
            case .shard(let request): shardWork.add(request)
            case .stop: isStopping = true
            }
        }
        return !messages.isEmpty
    }

    /// Applies other rules and bounds, also to a store that is opened later.
    func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        var new = configuration
        new.destinations = rules
        if let bounds { new.apply(bounds) }
        let moved = store?.destinations.moved(by: new) ?? []
        keeper.current.replace(with: new)
        guard !moved.isEmpty else {
            store?.apply(new)
            return
        }
        // Streams change their logstores only when they are read from the disk, which is rare.
        handle.stopReading()
        keeper.closeToReread()
        do throws(QueueError) {
            try open()
            publish()
        } catch {
            keeper.close(because: error)
            closed()
        }
    }

    // MARK: - The store

    private func open() throws(QueueError) {
        try keeper.open(delivery.packets, acknowledged: delivery.returns.acknowledged)
        opened()
    }

    /// Tries to open the store again after a failure, if the attempt is due.
    func reopen() {
        guard !isLost,
            keeper.reopen(delivery.packets, acknowledged: delivery.returns.acknowledged)
        else { return }
        opened()
        publish()
        noteLoss()
    }

    private func opened() {
        guard let store else { return }
        attach(store)
        handle.allowReading()
    }

    /// Connects another store with the watcher and with delivery.
    private func attach(_ store: OpenStore) {
        store.context.watcher = handle.watcher
        handle.absorptionState.withLock { $0 = store.absorptions.state }
        delivery.opened(store)
    }

    /// A write failed: the owner discards the store until it can read it from the disk again.
    func failed(_ error: SQLiteError) {
        keeper.failed(error)
        handle.watcher.current?.loseTrack()
        closed()
    }

    private func closed() {
        delivery.losses = TransactionLosses()
        handle.stopReading()
        publish()
        noteLoss()
    }

    /// Another gateway may have the shard now. It delivers what this one's delivery holds.
    private func noteLoss() {
        guard !isLost, keeper.failures.problem?.kind == .fenced else { return }
        isLost = true
        delivery.packets.recallAll()
        configuration.whenLost()
    }

    /// Continues a salvage. Returns true if the store was opened again.
    func saveMore(_ store: OpenStore) throws(SQLiteError) -> Bool {
        guard try keeper.saveMore(store, delivery.packets) else { return false }
        if let store = keeper.store { attach(store) }
        publish()
        return true
    }

    /// The commit log may yet take the present transaction. Refusing others is better than waiting.
    private func refuseMeanwhile(because reason: String) {
        guard !isStopping, store != nil else { return }
        isSlow = true
        journal.warning("commit log is slow; batches are refused meanwhile", ["reason": reason])
        handle.setAdmissions(Admissions(queue: .failing))
        handle.status.withLock { status in
            status.admission = .failing
            status.problem = QueueError(.unreachable, "the commit log does not answer: \(reason).")
        }
    }

    private func shutDown() {
        handle.stopReading()
        letters.refuse(.stopping)
        decisions.refuse(.stopping)
        shardWork.refuse()
        questions.refuse()
        keeper.finish()
        handle.close()
        publish()
    }
}

/// The times of the next commit and of the next housekeeping.
struct OwnerSchedule {
    var linger: CommitLinger
    var commitReason = CommitReason.alone
    private var nextHousekeeping = Moment(nanoseconds: 0)

    init(_ tuning: QueueTuning) {
        linger = CommitLinger(longest: tuning.linger, bytesEnough: tuning.lingerBytes)
    }

    var untilHousekeeping: Duration { nextHousekeeping - .now }

    /// Returns true if housekeeping is due, and schedules the next one after `period`.
    mutating func startHousekeeping(every period: Duration) -> Bool {
        let time = Moment.now
        guard nextHousekeeping <= time else { return false }
        nextHousekeeping = time + period
        return true
    }

    mutating func makeHousekeepingDue() { nextHousekeeping = Moment(nanoseconds: 0) }
}

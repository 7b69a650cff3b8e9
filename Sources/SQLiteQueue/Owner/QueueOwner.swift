import Queue
import SQLite
import System

/// The thread that owns the connection that writes: takes everything that waits, runs one transaction,
/// and answers everyone in it once it is durable.
///
/// What must survive a failed write lives here; what the disk knows lives in `OpenStore`.
final class QueueOwner {
    var configuration: QueueConfiguration
    let directory: DataDirectory
    let door: QueueHandle
    let journal: Journal
    let clock: QueueClock
    private let lock: LockFile

    var store: OpenStore?
    var disk: DiskSpace
    /// See `measureRoom`.
    var roomBytes = Int.max
    /// How much of the database may move at a time to make it shorter.
    var movableBytes = Int.max
    var retry: RetryPause
    var problem: QueueError?
    /// What was found wrong with the database: the next attempt to open it begins with a salvage.
    var damage: SQLiteError?
    /// Since the last failure it was opened, and what failed then was not tried again.
    var isBehind = false
    /// The last failure was one to read.
    var wasUnreadable = false
    var nextSalvage = Moment(nanoseconds: 0)
    /// When a store that disagrees with what is known may be read again instead of being rebuilt.
    var nextReading = Moment(nanoseconds: 0)
    /// Its indexes were rebuilt, and it was not opened since.
    var areIndexesMended = false
    /// The last attempt found no room for a new database.
    var salvageLacksRoom = false
    /// Attempts to copy more from damaged databases, by file.
    var asideAttempts: [String: AsideAttempts] = [:]
    /// When the journal may say again that logs of a damaged database wait.
    var nextRemainderWarning = Moment(nanoseconds: 0)
    /// Damaged databases that are kept aside.
    var damagedCopies = 0
    /// Those that are never deleted.
    var unsavedCopies = UnsavedCopies()
    var counts = QueueCounts()

    // Asked for and not done yet.
    var appends = Fifo<Append>()
    var acknowledged: [Int64] = []
    var unreadable: Set<Int64> = []
    var recalled: Set<Int64> = []
    var relanes: Set<Int64> = []
    var flushes: [String] = []
    var demand = Demand()
    var receiver: (@Sendable ([SealedPacket]) -> Void)?
    /// Outlets that delivery was told of, and whom it has for that.
    var outlets: Set<Outlet> = []
    var outletReceiver: (@Sendable ([Outlet]) -> Void)?
    var retiredReceiver: (@Sendable ([Outlet]) -> Void)?
    /// Packets of which delivery was not told yet that they are recalled.
    var recallsUnsaid: [Outlet: Set<Int64>] = [:]
    var recallReceiver: (@Sendable ([Outlet: Set<Int64>]) -> Void)?
    var departures = Departures()
    var letters = LetterWork()
    var decisions = DecisionWork()
    var streamQuestions = Fifo<StreamQuestion>()
    /// As last found, so that each is said once.
    var imbalances: [Imbalance] = []
    var isStopping = false

    /// What was said last to all.
    var published = QueueAdmissions(queue: .open, whereRoomIsMade: .open)
    /// What the journal said last of the admission, and when it may warn again.
    var announced = QueueAdmission.open
    var nextWarning = Moment(nanoseconds: 0)
    /// The same of each destination, and of logs that an overflow dropped.
    var announcedFull: Set<String> = []
    var nextCrowded: [String: Moment] = [:]
    var nextShortage: [String: Moment] = [:]
    var nextWarningOf: [String: Moment] = [:]
    var droppedUnsaid = Unsaid<Overflowed>()
    var expiredUnsaid = Unsaid<String>()
    var expiredLettersUnsaid = Unsaid<String>()
    /// Of the transaction at hand.
    var losses = TransactionLosses()
    /// Packets that delivery holds.
    var handed: [Int64: HandedPacket] = [:]
    /// Packets that delivery got and that a salvage took apart or lost, until delivery gives them back.
    var takenApart: [Int64: PacketPlace] = [:]
    /// As of the store that was open last.
    var ages: AgeBasis?
    var lastCommit = Moment(nanoseconds: 0)
    /// As last looked up, for the status.
    var survey: [String: Survey] = [:]
    /// Commits at the last housekeeping.
    var commitsBefore = 0
    var nextHousekeeping = Moment(nanoseconds: 0)

    /// Opens and recovers the queue, or says why it cannot be.
    init(
        _ configuration: QueueConfiguration,
        _ door: QueueHandle,
        _ clock: QueueClock,
        _ journal: Journal
    ) throws(QueueError) {
        self.configuration = configuration
        self.door = door
        self.clock = clock
        self.journal = journal
        directory = DataDirectory(path: configuration.directory)
        disk = DiskSpace(configuration.directory, bytesMax: configuration.tuning.diskBytes)
        retry = RetryPause(configuration.tuning)
        try directory.create()
        lock = try LockFile(directory)
        try open()
        publish()
    }

    func run() {
        while true {
            let hasNews = takeMessages()
            turn()
            if isStopping, appends.isEmpty { break }
            listStreams()
            keepHouse(isQuiet: !hasNews)
            if !hasMore { wait() }
        }
        shutDown()
    }

    /// There is something to do without anybody asking.
    var hasMore: Bool {
        if !appends.isEmpty || !letters.isEmpty || !decisions.isEmpty || !streamQuestions.isEmpty
            || departures.hasMore || isBehind
        {
            return true
        }
        return store.map { $0.needsRoom || $0.isExpiring } ?? false
    }

    /// How long there is nothing to do, unless somebody asks.
    var pause: Duration {
        // Housekeeping needs the store: while that is closed it only becomes overdue.
        guard let store else { return retry.next - .now }
        var pause = nextHousekeeping - .now
        if receiver != nil, let due = store.nextDue {
            pause = min(pause, due - clock.now())
        }
        return store.hasSpareSpace ? min(pause, Self.givingBackPause) : pause
    }

    private func wait() {
        door.wake.wait(timeout: pause)
        // Under load the next commit lets a little gather: rows become larger and syncs fewer. A batch
        // that comes alone is committed at once.
        let linger = configuration.tuning.linger - (.now - lastCommit)
        if linger > .zero, door.waitingBytes < configuration.tuning.lingerBytes, !isStopping {
            door.wake.wait(timeout: linger)
        }
    }

    /// Between two steps of giving space back.
    private static let givingBackPause = Duration.milliseconds(20)

    private func shutDown() {
        door.stopReading()
        refuseLetters(.stopping)
        refuseDecisions(.stopping)
        refuseStreams()
        do throws(SQLiteError) {
            try store?.database.connection.finish()
        } catch {
            journal.warning("queue closed without a checkpoint", ["reason": error])
        }
        store = nil
        door.close()
        publish()
    }
}

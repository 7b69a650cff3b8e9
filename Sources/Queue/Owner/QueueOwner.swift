import System

/// The thread that owns the connection that writes: takes everything that waits, runs one transaction,
/// and answers everyone in it once it is durable.
///
/// What must survive a failed write lives here; what the disk knows lives in `OpenStore`.
final class QueueOwner {
    let configuration: QueueConfiguration
    let directory: DataDirectory
    let door: QueueDoor
    let journal: Journal
    let clock: QueueClock
    private let lock: LockFile

    var store: OpenStore?
    var disk: DiskSpace
    var retry: RetryPause
    var problem: QueueError?
    var counts = QueueCounts()

    // Asked for and not done yet.
    var appends = Fifo<Append>()
    var acknowledged: [Int64] = []
    var flushes: [String] = []
    var demand: [String: Int] = [:]
    var receiver: (@Sendable ([SealedPacket]) -> Void)?
    var isStopping = false

    /// Packets that delivery holds.
    var handed: Set<Int64> = []
    var lastCommit = Moment(nanoseconds: 0)
    /// As last looked up, for the status.
    var oldest: [String: WallTime] = [:]
    var nextHousekeeping = Moment(nanoseconds: 0)

    /// Opens and recovers the queue, or says why it cannot be.
    init(
        _ configuration: QueueConfiguration,
        _ door: QueueDoor,
        _ clock: QueueClock,
        _ journal: Journal
    ) throws(QueueError) {
        self.configuration = configuration
        self.door = door
        self.clock = clock
        self.journal = journal
        directory = DataDirectory(path: configuration.directory)
        disk = DiskSpace(configuration.directory, every: configuration.tuning.housekeeping)
        retry = RetryPause(configuration.tuning)
        try directory.create()
        lock = try LockFile(directory)
        try open()
        disk.refresh(.now)
        publish()
    }

    func run() {
        while true {
            takeMessages()
            turn()
            if isStopping, appends.isEmpty { break }
            keepHouse()
            if appends.isEmpty { wait() }
        }
        shutDown()
    }

    private func takeMessages() {
        for message in door.mailbox.takeAll() {
            switch message {
            case .append(let append): appends.append(append)
            case .deliver(let receiver): self.receiver = receiver
            case .request(let count, let name): demand[name, default: 0] += count
            case .acknowledge(let number): acknowledged.append(number)
            case .flush(let name): flushes.append(name)
            case .stop: isStopping = true
            }
        }
    }

    private func wait() {
        var pause = nextHousekeeping - .now
        if store == nil {
            pause = min(pause, retry.next - .now)
        } else if let due = nextDue() {
            pause = min(pause, due - clock.now())
        }
        door.wake.wait(timeout: pause)
        // Under load the next commit lets a little gather: rows become larger and syncs fewer. A batch
        // that comes alone is committed at once.
        let linger = configuration.tuning.linger - (.now - lastCommit)
        if linger > .zero, door.waitingBytes < configuration.tuning.lingerBytes, !isStopping {
            door.wake.wait(timeout: linger)
        }
    }

    /// When the next stream comes of age that somebody asks for.
    private func nextDue() -> WallTime? {
        guard let store, receiver != nil else { return nil }
        return demand.lazy
            .filter { $0.value > 0 }
            .compactMap { store.destinations[$0.key]?.nextDue }
            .min()
    }

    private func shutDown() {
        if let store {
            do {
                try store.database.connection.checkpoint(.truncate)
            } catch {
                journal.warning("queue closed without a checkpoint", ["reason": error])
            }
        }
        door.reader.withLock { $0.close() }
        store = nil
        door.close()
        publish()
    }
}

import Logs
import Queue
import Synchronization
import System

/// The state that callers and the owner share.
final class QueueHandle: Sendable {
    let wake: WakeUp
    let mailbox: Mailbox<Message>
    let status: Locked<QueueStatus>
    let reader: Locked<PayloadReader>
    let letters: Locked<DeadLetterReader>
    let tuning: QueueTuning
    let shard: Shard
    /// Packets that delivery must give back.
    let recalls = Recalls()
    let watcher = WatcherSlot()
    let absorptionState = Locked(AbsorptionState())

    /// The logstore of all logs of a destination. Set before the owner moves the waiting logs, so
    /// that delivery sends nothing under an old name.
    private let addresses = Locked<[String: String]>([:])

    /// The queue's admission. If the top bit is set, some destination's differs: see the table.
    private let admissionCode = Atomic<UInt8>(0)
    private static let differs: UInt8 = 0x80
    private let admissions = Locked(Admissions(queue: .open))
    private let crowdedOut = Locked<Set<String>>([])
    private let waiting = Atomic<Int>(0)
    let requests: RequestCount
    /// Tallies of requests without batches since the owner's last turn.
    private let tallies = Locked(IntakeTally())
    /// True if the owner takes nothing from the mailbox any more.
    private let isClosed = Atomic<Bool>(false)

    init(_ configuration: QueueConfiguration) throws(SystemError) {
        let wake = try WakeUp()
        self.wake = wake
        mailbox = Mailbox { wake.signal() }
        requests = RequestCount(wake)
        status = Locked(QueueStatus())
        let database = configuration.dataDirectory.database
        reader = Locked(PayloadReader(payloadsOf: database))
        letters = Locked(DeadLetterReader(lettersOf: database))
        tuning = configuration.tuning
        shard = configuration.shard
    }

    var admission: QueueAdmission {
        Self.admission(admissionCode.load(ordering: .acquiring))
    }

    private static func admission(_ code: UInt8) -> QueueAdmission {
        QueueAdmission(rawValue: code & ~differs) ?? .stopping
    }

    func admission(for outlet: Outlet) -> QueueAdmission {
        let code = admissionCode.load(ordering: .acquiring)
        guard code & Self.differs != 0 else { return Self.admission(code) }
        let admission = admissions.withLock { admissions in
            admissions.destinations[outlet.destination]?.of(outlet.logstore, admissions.all)
                ?? admissions.all.queue
        }
        if admission == .tooManyLogstores { crowded(outlet.destination) }
        return admission
    }

    func admission(forDestination name: String) -> QueueAdmission {
        let code = admissionCode.load(ordering: .acquiring)
        let queue = Self.admission(code)
        guard code & Self.differs != 0 else { return queue }
        return admissions.withLock { $0.destinations[name]?.bytes($0.all) } ?? queue
    }

    func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> {
        var places: [String: LogstorePlaces] = [:]
        let crowdedOut = admissions.withLock { admissions in
            outlets.filter { outlet in
                let name = outlet.destination
                guard let known = admissions.destinations[name], let logstores = known.logstores,
                    known.bytes(admissions.all) == .open
                else { return false }
                return logstores.withLock { book in
                    !places[name, default: LogstorePlaces()].take(outlet.logstore, in: book)
                }
            }
        }
        for name in Set(crowdedOut.map(\.destination)) { crowded(name) }
        return Set(crowdedOut)
    }

    func crowded(_ destination: String) {
        crowdedOut.withLock { _ = $0.insert(destination) }
    }

    func takeCrowded() -> Set<String> {
        crowdedOut.withLock { names in
            defer { names = [] }
            return names
        }
    }

    /// The number by which the owner knows a packet of this shard.
    func number(of packet: PacketID) -> Int64 {
        precondition(packet.shard == shard, "a packet that another shard handed over")
        return packet.number
    }

    func setAddresses(_ rules: [String: DestinationRules]) {
        addresses.withLock { $0 = rules.compactMapValues(\.logstore) }
    }

    func goesElsewhere(_ stream: StreamKey) -> Bool {
        addresses.withLock { $0[stream.destination].map { $0 != stream.logstore } ?? false }
    }

    /// Raw bytes of batches that are not committed yet, and of their streams.
    var waitingBytes: Int { waiting.load(ordering: .relaxed) }

    /// Called when batches of that many raw bytes got their answer.
    func settled(_ rawBytes: Int) {
        let left = waiting.subtract(rawBytes, ordering: .relaxed).newValue
        precondition(left >= 0, "a batch was answered twice")
    }

    func setAdmissions(_ new: Admissions) {
        admissions.withLock { $0 = new }
        show(new.all.queue, differ: new.differ)
    }

    func changeAdmissions(
        _ all: QueueAdmissions,
        _ changed: [(name: String, admission: DestinationAdmission)]
    ) {
        let differ = admissions.withLock { admissions in
            admissions.set(all)
            for (name, admission) in changed { admissions.set(admission, of: name) }
            return admissions.differ
        }
        show(all.queue, differ: differ)
    }

    private func show(_ queue: QueueAdmission, differ: Bool) {
        // After the table, which a reader of the bit must find.
        admissionCode.store(queue.rawValue | (differ ? Self.differs : 0), ordering: .releasing)
    }

    func post(_ message: Message) {
        mailbox.post(message)
        // The owner may have stopped between a caller's look at the admission and its post. The
        // mailbox's lock orders this load and `close`: either that one takes the message, or the
        // flag is set here.
        if isClosed.load(ordering: .sequentiallyConsistent) { refuseRest() }
    }

    func post(_ request: DeliveryRequest) { post(.delivery(request)) }

    func append(_ batches: [Batch], of request: any AppendingRequest) {
        let digestBytes = request.identity?.digest.count ?? RepeatRecord.digestBytes
        precondition(
            digestBytes == RepeatRecord.digestBytes,
            "an identity that could never be found again"
        )
        assert(request.tally.isClosed, "a tally that fsck would find wrong")
        assert(request.tally.copies == batches.logCopies, "copies that no ledger has")
        var append = Append(batches, of: request)
        let rawBytes = append.rawBytes
        let before = waiting.add(rawBytes, ordering: .relaxed).oldValue
        let after = before + rawBytes
        if after > tuning.waitingBytesMax, before > 0 {
            settled(rawBytes)
            append.refuse(.full)
            post(.append(append))
            return requests.add()
        }
        append.compress(RowPacker(rawBytesMax: tuning.rowBytes, logsMax: .max))
        post(.append(append))
        requests.add()
        // Ends the owner's linger: there is enough for a commit.
        if before < tuning.lingerBytes, after >= tuning.lingerBytes { wake.signal() }
    }

    /// Adds a tally for the next turn. Wakes nobody: a request without logs must not cost a sync.
    func count(_ tally: IntakeTally) {
        assert(tally.isClosed, "a tally that fsck would find wrong")
        tallies.withLock { $0 += tally }
    }

    func takeTallies() -> IntakeTally {
        tallies.withLock { tallies in
            defer { tallies = IntakeTally() }
            return tallies
        }
    }

    func allowReading() {
        reader.withLock { $0.allow() }
        letters.withLock { $0.allow() }
    }

    func stopReading() {
        reader.withLock { $0.close() }
        letters.withLock { $0.close() }
    }

    /// Refuses everything that is posted from now on.
    func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        refuseRest()
    }

    private func refuseRest() {
        for message in mailbox.takeAll() {
            switch message {
            case .append(let append):
                settled(append.rawBytes)
                append.request.decided(.refused(.stopping))
            case .letters(let request): request.refuse(.stopping)
            case .decision(let request): request.refuse(.queue(.stopping))
            case .list(let question): question.answer(nil)
            case .shard(let request): request.refuse()
            default: continue
            }
        }
    }
}

/// Counts posted requests, and wakes the owner when as many are there as it waits for.
final class RequestCount: Sendable {
    private let posted = Atomic<Int>(0)
    /// The number of the request that wakes the owner.
    private let awaited = Atomic<Int>(.max)
    private let wake: WakeUp

    init(_ wake: WakeUp) {
        self.wake = wake
    }

    func add() {
        // The owner stores the awaited number before it reads the count, so one of both sees the
        // other.
        let number = posted.add(1, ordering: .sequentiallyConsistent).newValue
        if number == awaited.load(ordering: .sequentiallyConsistent) { wake.signal() }
    }

    var total: Int { posted.load(ordering: .sequentiallyConsistent) }

    /// The owner is about to wait. Returns false if the request with that number is there already.
    func wakeOwner(at number: Int) -> Bool {
        awaited.store(number, ordering: .sequentiallyConsistent)
        return total < number
    }

    func wakeOwnerNoMore() {
        awaited.store(.max, ordering: .relaxed)
    }
}

import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension QueueConfiguration {
    /// Small and quick: no linger, no spare pages, no space left free.
    static func small(
        _ directory: String,
        packets: PacketLimits = PacketLimits(rawBytes: 1 << 20, logs: 4096, age: .seconds(3600))
    ) -> QueueConfiguration {
        var configuration = QueueConfiguration(
            directory: directory,
            freeBytesMin: 0,
            destinations: [
                "app": DestinationRules(packet: packets),
                "other": DestinationRules(packet: packets),
            ]
        )
        configuration.tuning.linger = .zero
        configuration.tuning.spareBytes = 0
        configuration.tuning.housekeeping = .milliseconds(20)
        configuration.tuning.retryMin = .milliseconds(10)
        configuration.tuning.retryMax = .milliseconds(50)
        return configuration
    }
}

extension TemporaryDirectory {
    /// Opens a queue, which is closed before the directory goes away.
    func open(
        _ configuration: QueueConfiguration,
        journal: Journal = .silent,
        clock: QueueClock = .started()
    ) throws(QueueError) -> DurableQueue {
        let store = try DurableQueue(configuration, journal: journal, clock: clock)
        atEnd { store.close() }
        return store
    }

    /// Opens a small queue in the directory.
    func queue(
        journal: Journal = .silent,
        clock: QueueClock = .started(),
        _ change: (inout QueueConfiguration) -> Void = { _ in }
    ) throws(QueueError) -> DurableQueue {
        var configuration = QueueConfiguration.small(path)
        change(&configuration)
        return try open(configuration, journal: journal, clock: clock)
    }
}

extension TemporaryDirectory {
    /// Opens a store while delivery holds none of its packets.
    func openStore(
        _ configuration: QueueConfiguration,
        now: @escaping @Sendable () -> WallTime = { .now }
    ) throws -> OpenStore {
        try OpenStore.open(path + "/queue.db", configuration, now: now, handed: []).0
    }

    /// What its files take of the disk.
    var takenBytes: Int {
        names.reduce(0) { sum, name in
            var about = stat()
            return stat("\(path)/\(name)", &about) == 0 ? sum + Int(about.st_blocks) * 512 : sum
        }
    }
}

/// Changes a database that no queue uses.
func execute(in database: String, _ sql: String) throws {
    let connection = try Connection(database, .readWrite)
    try connection.execute(sql)
    try connection.finish()
}

/// Where a table or index of the database begins.
func firstByte(of table: String, in database: String) throws -> Int {
    let connection = try Connection(database, .readWrite)
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"
    let place = try (connection.integer(sql) - 1) * connection.integer("PRAGMA page_size")
    try connection.finish()
    return Int(place)
}

/// A time of day that a test sets, or steps as a system does when it learns the time.
struct SteppedClock {
    private let time = Locked(WallTime(seconds: 1_800_000_000))
    /// Where the clock is stepped to when it is next followed.
    private let target = Locked<WallTime?>(nil)

    var queueClock: QueueClock {
        QueueClock { [time] in
            time.withLock { $0 }
        } follow: { [time, target] in
            guard let target = target.withLock({ $0.take() }) else { return .zero }
            return time.withLock { time in
                defer { time = target }
                return .nanoseconds(target.nanoseconds - time.nanoseconds)
            }
        }
    }

    func set(_ seconds: Int64) { time.withLock { $0 = WallTime(seconds: seconds) } }

    func wait(_ seconds: Int64) {
        time.withLock { $0 = WallTime(seconds: $0.seconds + seconds) }
    }

    /// True until the queue has followed the step.
    var isStepping: Bool { target.withLock { $0 != nil } }

    func step(to seconds: Int64) { target.withLock { $0 = WallTime(seconds: seconds) } }
}

extension Outlet {
    static func named(_ logstore: String, destination: String = "app") -> Outlet {
        Outlet(destination: destination, logstore: logstore)
    }
}

extension StreamKey {
    static func named(
        _ name: String,
        destination: String = "app",
        logstore: String = "app-log"
    ) -> StreamKey {
        StreamKey(
            destination: destination,
            logstore: logstore,
            trailer: GroupTrailer(topic: name, source: "", tags: [])
        )
    }
}

/// Logs that can be told apart: each carries a number and some filling.
func logs(_ numbers: some Sequence<Int>, filling: Int = 20) -> EncodedLogs {
    logs(numbers) { number in
        (0..<filling).map { UInt8(97 + (number &* 7 &+ $0) % 26) }
    }
}

/// The same with a filling that does not become smaller by compression.
func logs(_ numbers: some Sequence<Int>, noise bytes: Int) -> EncodedLogs {
    logs(numbers) { number in
        var generator = SeededGenerator(seed: UInt64(number))
        let words = (0..<(bytes + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { Array($0.prefix(bytes)) }
    }
}

private func logs(
    _ numbers: some Sequence<Int>,
    filling: (Int) -> [UInt8]
) -> EncodedLogs {
    var bytes: [UInt8] = []
    var count = 0
    for number in numbers {
        var body = Array("\(number);".utf8)
        body += filling(number)
        bytes.append(0x0A)
        var length = body.count
        while length >= 0x80 {
            bytes.append(UInt8(length & 0x7F) | 0x80)
            length >>= 7
        }
        bytes.append(UInt8(length))
        bytes += body
        count += 1
    }
    return EncodedLogs(bytes: bytes, count: count)
}

/// The numbers that `logs` put in, in order.
func numbers(_ blocks: [StoredBlock]) throws -> [Int] {
    var found: [Int] = []
    for block in blocks {
        let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        try raw.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            while let entry = try entries.next() {
                // Behind the tag and the length, whose last byte is the first below 0x80.
                let body = bytes[entry].dropFirst().drop { $0 >= 0x80 }.dropFirst()
                let digits = body.prefix { $0 != 0x3B }
                found.append(try #require(Int(String(decoding: digits, as: UTF8.self))))
            }
        }
    }
    return found
}

/// What the body's callback is given.
func answer<Answer: Sendable>(
    _ body: (@escaping @Sendable (Answer) -> Void) throws -> Void
) rethrows -> Answer {
    let answer = Awaited<Answer>()
    try body { answer.put($0) }
    return answer.take(1)[0]
}

extension Batch {
    /// Logs of the stream that most tests use.
    init(_ logs: EncodedLogs) { self.init(stream: .named("a"), logs: logs) }

    /// Dead letters alone.
    static func dead(
        _ logs: EncodedLogs,
        _ stream: StreamKey = .named("a"),
        because reason: DeathReason = .tooLarge
    ) -> Batch {
        let dead = Batch.Dead(logs: logs, reason: reason)
        return Batch(stream: stream, logs: EncodedLogs(), dead: [dead])
    }
}

extension DeathReason {
    static let tooLarge = DeathReason(code: "ValueTooLarge", message: "a value is too long")
}

extension Awaited<String> {
    /// A journal whose lines arrive here.
    func journal(_ level: Journal.Level = .info) -> Journal {
        Journal(level: level, format: .json) { self.put(String(decoding: $0, as: UTF8.self)) }
    }
}

extension OpenStore {
    /// Takes batches as a turn of the owner does.
    func take(_ batches: [Batch]) throws {
        #expect(try intake.stage(batches) == nil)
        try intake.writeStaged()
        try commit()
    }
}

extension QueueOwner {
    convenience init(
        _ configuration: QueueConfiguration,
        _ handle: QueueHandle,
        _ journal: Journal
    ) throws(QueueError) {
        try self.init(configuration, handle, clock: .started(), journal)
    }

    /// Does what was posted.
    func takeTurn() {
        _ = takeMessages()
        turn()
    }

    /// Posts a batch whose outcome does not matter.
    func append(_ batch: Batch) {
        let request = CallingRequest(tally: IntakeTally([batch])) { _ in }
        handle.append([batch], of: request)
    }

    /// Does what is due when housekeeping is.
    func keepHouse() {
        schedule.makeHousekeepingDue()
        doHousekeeping(isQuiet: true)
    }
}

extension DurableQueue {
    /// Appends and waits for the answer.
    func store(_ batches: Batch...) -> AppendOutcome { store(batches) }

    func store(
        _ batches: [Batch],
        identity: BatchIdentity? = nil,
        sender: String? = nil,
        tally: IntakeTally? = nil
    ) -> AppendOutcome {
        answer {
            append(batches, identity: identity, sender: sender, tally: tally, whenDurable: $0)
        }
    }

    func contents(of packet: SealedPacket) throws -> [Int] {
        try numbers(blocks(of: packet))
    }

    /// Asks for so many packets of each logstore that tests use; of those that have had no logs
    /// nothing is remembered.
    func request(_ count: Int, for destination: String) {
        for logstore in ["app-log", "x", "y", "z", "0", "1", "2"] {
            request(count, for: .named(logstore, destination: destination))
        }
    }

    /// Waits until the status says so.
    func wait(until isSo: (QueueStatus) -> Bool) {
        while !eventually({ isSo(status) }) {}
    }
}

extension DeliveryNews {
    var packets: [SealedPacket] { if case .packets(let packets) = self { packets } else { [] } }
    var announced: [Outlet] { if case .announced(let outlets) = self { outlets } else { [] } }
    var retired: [Outlet] { if case .retired(let outlets) = self { outlets } else { [] } }
    var recalled: Set<PacketID> {
        if case .recalled(let packets) = self { Set(packets.values.joined()) } else { [] }
    }

    /// "+x" for a new outlet, "-x" for one that is gone.
    var outletEvents: [String] {
        announced.map { "+\($0.logstore)" } + retired.map { "-\($0.logstore)" }
    }
}

/// Takes packets as delivery would.
final class Consumer: Sendable {
    private let arrived = Awaited<SealedPacket>()
    private let store: DurableQueue

    /// Asks for so many packets of each outlet as soon as it is known, as delivery does.
    init(
        _ store: DurableQueue,
        requesting count: Int = 0,
        told: @escaping @Sendable (DeliveryNews) -> Void = { _ in }
    ) {
        self.store = store
        store.connect { [arrived, weak store] news in
            told(news)
            for packet in news.packets { arrived.put(packet) }
            for outlet in news.announced where count > 0 { store?.request(count, for: outlet) }
        }
    }

    /// Asks for so many packets and waits for them.
    func packets(_ count: Int, of destination: String = "app") -> [SealedPacket] {
        store.request(count, for: destination)
        return arrived.take(count)
    }

    /// What waits, as a packet.
    func sealed() -> SealedPacket {
        store.flush("app")
        return packets(1)[0]
    }

    /// Everything that waits, in order.
    func drain(_ destination: String = "app", _ logstore: String? = nil) throws -> [Int] {
        var found: [Int] = []
        while store.status.destinations[destination]?.ledger.queued ?? 0 > 0 {
            store.flush(destination)
            let outlet = logstore.map { Outlet(destination: destination, logstore: $0) }
            let packet = outlet.map { packets(1, of: $0) } ?? packets(1, of: destination)
            #expect(logstore == nil || packet[0].stream.logstore == logstore)
            found += try store.contents(of: packet[0])
            store.end(packet[0], .stored)
            store.settle()
        }
        return found
    }

    /// The same of one outlet, which must have been announced.
    func packets(_ count: Int, of outlet: Outlet) -> [SealedPacket] {
        store.request(count, for: outlet)
        return arrived.take(count)
    }

    /// Waits for packets that were asked for before.
    func next(_ count: Int = 1) -> [SealedPacket] { arrived.take(count) }

    /// The next packet, or nil when none comes within some milliseconds.
    func nextSoon() -> SealedPacket? { arrived.takeOne(within: .milliseconds(5)) }

    var waiting: Int { arrived.count }
}

/// Opens the store again, as the owner's loop does, until it is open.
func reopens(_ owner: QueueOwner) -> Bool {
    eventually {
        owner.reopen()
        return owner.store != nil
    }
}

/// Logs that SLS could read: each has a time and its number as a field.
func timed(_ numbers: some Sequence<Int>, at seconds: UInt32, filling: Int = 20) -> EncodedLogs {
    var logs = EncodedLogs()
    for number in numbers {
        let text = String(repeating: "x", count: filling)
        logs.append(
            time: LogTime(seconds: seconds),
            fields: [("number", "\(number)"), ("text", text)]
        )
    }
    return logs
}

/// The log's number, wherever it is kept.
func number(_ entry: LogEntry) throws -> Int {
    let field = try #require(entry.fields.first { $0.key == "number" })
    return try #require(Int(field.value))
}

func entries(_ blocks: [StoredBlock]) throws -> [LogEntry] {
    var found: [LogEntry] = []
    for block in blocks {
        let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        try raw.withUnsafeBytes { bytes in
            var walk = LogEntries(bytes)
            while let range = try walk.next() {
                found.append(try LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range])))
            }
        }
    }
    return found
}

extension DurableQueue {
    /// Returns when everything that was asked before is done and its packets are handed over. An
    /// answer is given before the packets of its turn, so the second one comes after them.
    func settle() {
        for _ in 0..<2 { _ = store() }
    }

    func replaying(_ selection: DeadLetterSelection) -> DeadLetterChange {
        answer { change(.replay, selection, whenDone: $0) }
    }

    func purging(_ selection: DeadLetterSelection) -> DeadLetterChange {
        answer { change(.purge, selection, whenDone: $0) }
    }

    func replacing(_ id: Int64, with edit: DeadLetterEdit) -> DeadLetterEditOutcome {
        answer { replace(id, with: edit, whenDone: $0) }
    }

    /// All that match, page by page.
    func letters(_ filter: DeadLetterFilter = DeadLetterFilter()) throws -> [DeadLetter] {
        var found: [DeadLetter] = []
        var next: Int64? = 0
        while let id = next {
            let page = try deadLetters(matching: filter, after: id, limit: 7)
            found += page.letters
            next = page.next
        }
        return found
    }

    func deadNumbers(_ filter: DeadLetterFilter = DeadLetterFilter()) throws -> [Int] {
        try letters(filter).map { try number(#require($0.content)) }
    }
}

/// Takes packets as SLS does: refuses a whole one for a log in it that it does not take.
final class FakeSLS {
    let store: DurableQueue
    private let reason: DeathReason
    private let consumer: Consumer
    private let refuses: (LogEntry) -> Bool
    private var asked = 0
    private(set) var stored: [LogEntry] = []
    private(set) var requests = 0
    private(set) var refusals = 0
    /// What came under each.
    private var packs: [String: [Int]] = [:]

    static let reason = DeathReason(
        code: "PostBodyInvalid",
        message: "a log is bad",
        requestID: "5642FC2399248C8F7B0145FD",
        status: 400
    )

    init(
        _ store: DurableQueue,
        because reason: DeathReason = FakeSLS.reason,
        refuses: @escaping (LogEntry) -> Bool
    ) {
        self.store = store
        self.reason = reason
        self.refuses = refuses
        consumer = Consumer(store)
    }

    var numbers: [Int] { get throws { try stored.map(number) } }

    /// Sends one packet, if there is one. False when nothing came.
    func step() throws -> Bool {
        if asked == 0 {
            store.flush("app")
            store.request(1, for: "app")
            asked = 1
        }
        store.settle()
        guard consumer.waiting > 0 else { return false }
        let packet = consumer.next()[0]
        asked = 0
        requests += 1
        guard let blocks = try blocks(of: packet) else { return true }
        let logs = try entries(blocks)
        let numbers = try logs.map(number)
        let before = packs.updateValue(numbers, forKey: packet.packID)
        #expect(before == nil || before == numbers, "content changed under one pack id")
        #expect(logs.count == packet.logCount)
        if logs.contains(where: refuses) {
            refusals += 1
            store.end(packet, .isolate(reason))
        } else {
            stored += logs
            store.end(packet, .stored)
        }
        store.settle()
        return true
    }

    /// Nil when the queue took it back meanwhile, for its age perhaps.
    private func blocks(of packet: SealedPacket) throws -> [StoredBlock]? {
        do {
            return try store.blocks(of: packet)
        } catch let error where error.kind == .withdrawn {
            return nil
        }
    }

    /// Sends until nothing is queued.
    func run() throws {
        while store.status.ledger.queued > 0 { _ = try step() }
    }
}

extension ManualClock {
    var queueClock: QueueClock { QueueClock { self.now } }
}

/// What was used of a processor: not more because the machine has other work, or its disk is slow.
enum ProcessorTime {
    static var ofThread: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }
    static var ofProcess: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }

    private static func time(of clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

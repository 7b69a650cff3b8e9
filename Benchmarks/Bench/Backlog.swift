import Glibc
import Logs
import Queue
import SQLiteQueue
import System

/// Measures a queue with a large backlog, without the rest of the gateway: the time to open it, its
/// memory, and its drain rate while logs keep coming.
///
/// - fill: stores the given MiB in the given number of streams, in batches of the given number of
///   logs, and closes;
///   kill ends without closing.
/// - open: opens, lists streams, and closes.
/// - drain: opens, reads and acknowledges every packet while one writer continues, and closes.
func runBacklog(_ mode: String, directory: String, _ numbers: [Int]) {
    guard numbers.count == 3, ["fill", "kill", "open", "drain"].contains(mode) else { exit(2) }
    let backlog = Backlog(directory, streams: numbers[1], logsPerBatch: numbers[2])
    let began = Moment.now
    let store = backlog.open()
    print("open_seconds=\(seconds(since: began))", store.shown, used())
    switch mode {
    case "drain":
        backlog.drain(store)
    case "open":
        for count in [20, StreamWish.countMax] { backlog.list(store, count) }
    default:
        backlog.fill(store, until: numbers[0] << 20)
        print("fill_seconds=\(seconds(since: began))", store.shown, used())
        fflush(nil)
        if mode == "kill" { kill(getpid(), SIGKILL) }
    }
    let closing = Moment.now
    store.close()
    print("close_seconds=\(seconds(since: closing))", used())
}

private struct Backlog {
    let directory: String
    let keys: [StreamKey]
    /// Different batches of realistic logs.
    let batches: [EncodedLogs]

    init(_ directory: String, streams: Int, logsPerBatch: Int) {
        self.directory = directory
        keys = (0..<streams).map { number in
            StreamKey(
                destination: "bench",
                logstore: "app",
                trailer: GroupTrailer(topic: "app", source: "", tags: [("device", "\(number)")])
            )
        }
        var random = SplitMix(state: 4)
        let decoder = JSONLogDecoder()
        batches = (0..<256).map { _ in
            let logs = (0..<logsPerBatch).map { _ in smallLog(&random) }
            // The decoder needs 64 spare bytes after the body.
            let body = Array(("[" + logs.joined(separator: ",") + "]").utf8)
            return (body + [UInt8](repeating: 0, count: 64)).withUnsafeBytes { bytes in
                let json = UnsafeRawBufferPointer(rebasing: bytes[..<body.count])
                guard
                    let batch = try? decoder.decodePlain(LogBody(json, BatchTiming(arrival: .now)))
                else {
                    fatalError("a body is not readable")
                }
                return batch.sound
            }
        }
    }

    func open() -> DurableQueue {
        var configuration = QueueConfiguration(
            directory: directory,
            bytesMax: 16 << 30,
            durability: .normal,
            freeBytesMin: 1 << 30
        )
        configuration.streamsMax = 1_000_000
        do {
            return try DurableQueue(configuration, journal: .silent)
        } catch {
            fatalError("\(error)")
        }
    }

    func fill(_ store: DurableQueue, until bytes: Int) {
        let writer = Writer(store, self)
        while store.status.bytes < bytes { writer.append(4096) }
        writer.wait()
    }

    /// Measures how long a listing of streams blocks the queue's thread.
    func list(_ store: DurableQueue, _ count: Int) {
        var wish = StreamWish()
        wish.count = count
        for order in StreamWish.Order.allCases {
            wish.order = order
            let wake = newWakeUp()
            let began = Moment.now
            store.list(wish) { _ in wake.signal() }
            wake.wait()
            let took = Moment.now - began
            print("list_\(order)_\(count)_us=\(Int(took / .microseconds(1)))")
        }
    }

    /// Asks for 64 packets at a time, reads and acknowledges each, like delivery to an endpoint
    /// that answers at once.
    func drain(_ store: DurableQueue) {
        let before = store.status
        let wake = newWakeUp()
        let arrived = Mailbox<SealedPacket> { wake.signal() }
        store.connect { news in
            guard case .packets(let packets) = news else { return }
            for packet in packets { arrived.post(packet) }
        }
        store.request(64, for: keys[0].outlet)
        let isOver = Locked(false)
        let slowest = Locked(Duration.zero)
        let appended = Locked(0)
        let worker = try? Worker("writer") {
            let writer = Writer(store, self)
            while !isOver.withLock({ $0 }) {
                let began = Moment.now
                writer.append(32)
                writer.wait()
                let took = Moment.now - began
                slowest.withLock { $0 = max($0, took) }
                appended.withLock { $0 += 32 * batches[0].count }
                usleep(20_000)
            }
        }
        let began = Moment.now
        var said = began
        var logs = 0
        var bytes = 0
        var packets = 0
        while logs < Int(before.ledger.queued) {
            wake.wait(timeout: .seconds(1))
            for packet in arrived.takeAll() {
                guard let blocks = try? store.blocks(of: packet) else { fatalError("unreadable") }
                logs += packet.logCount
                packets += 1
                for block in blocks { bytes += block.compressed.count }
                store.end(packet, .stored)
                store.request(1, for: packet.stream.outlet)
            }
            guard Moment.now - said > .seconds(10) else { continue }
            said = .now
            print("  drained \(logs) of \(before.ledger.queued)", store.shown, used())
        }
        let took = Double((Moment.now - began).milliseconds) / 1000
        isOver.withLock { $0 = true }
        worker?.join()
        print(
            "drain_seconds=\(took) logs_per_second=\(Int(Double(logs) / took))",
            "rows_per_second=\(Int(Double(before.rows) / took))",
            "bytes_per_second=\(Int(Double(bytes) / took)) packets=\(packets)",
            "appended=\(appended.withLock { $0 }) slowest_ms=\(slowest.withLock { $0.milliseconds })",
            store.shown,
            used()
        )
    }
}

/// Appends without waiting for each answer; the number of open appends is bounded.
private final class Writer {
    private let store: DurableQueue
    private let backlog: Backlog
    private var next = 0
    private let answered = Locked(0)
    private let wake: WakeUp
    private var asked = 0
    /// The queue refuses when more than 64 MiB wait.
    private let most: Int

    init(_ store: DurableQueue, _ backlog: Backlog) {
        self.store = store
        self.backlog = backlog
        most = min(8192, (32 << 20) / (backlog.batches[0].bytes.count + 1024))
        wake = newWakeUp()
    }

    func append(_ count: Int) {
        for _ in 0..<count {
            let batch = Batch(
                stream: backlog.keys[next % backlog.keys.count],
                logs: backlog.batches[next % backlog.batches.count]
            )
            next += 1
            asked += 1
            store.append([batch]) { [answered, wake] outcome in
                guard outcome == .stored else { fatalError("\(outcome)") }
                answered.withLock { $0 += 1 }
                wake.signal()
            }
            while asked - answered.withLock({ $0 }) > most { wake.wait(timeout: .seconds(1)) }
        }
    }

    func wait() {
        while answered.withLock({ $0 }) < asked { wake.wait(timeout: .seconds(1)) }
    }
}

extension DurableQueue {
    fileprivate var shown: String {
        let status = status
        return "rows=\(status.rows) mib=\(status.bytes >> 20) streams=\(status.streams)"
            + " database_mib=\(status.databaseBytes >> 20) log_mib=\(status.logBytes >> 20)"
    }
}

private func newWakeUp() -> WakeUp {
    guard let wake = try? WakeUp() else { fatalError("no eventfd") }
    return wake
}

private func seconds(since moment: Moment) -> Double {
    Double((Moment.now - moment).milliseconds) / 1000
}

/// CPU time so far, and current and peak resident memory.
private func used() -> String {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let times = [usage.ru_utime, usage.ru_stime]
    let milliseconds = times.reduce(0) { $0 + $1.tv_sec * 1000 + Int($1.tv_usec) / 1000 }
    var text = "cpu_ms=\(milliseconds) "
    guard let file = fopen("/proc/self/status", "r") else { return text }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
        let string = String(
            decoding: line.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:)),
            as: UTF8.self
        )
        for (key, name) in [("VmRSS:", "rss_mib"), ("VmHWM:", "peak_mib")]
        where string.hasPrefix(key) {
            let digits = string.filter(\.isNumber)
            text += "\(name)=\((Int(digits) ?? 0) >> 10) "
        }
    }
    return text
}

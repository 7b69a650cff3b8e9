import Configuration
import HTTPClient
import Synchronization
import System

/// Carries lines on a thread of its own: a sync blocks, and so does a stuck reader. Waiting packets
/// share one write and one sync.
final class WriterThread: Carrier {
    private struct Waiting {
        let started: Moment
        let bytes: Int
        let whenDone: (CarriedWork) -> Void
    }

    private let name: String
    private let makeWriter: @Sendable () -> any LineWriter
    private var desk: WriterDesk?
    /// Newer ones than `makeWriter` has.
    private var newSettings: Destination?
    private var waiting: [Int: Waiting] = [:]
    private var lastTicket = 0
    /// Work for which there is no thread.
    private var failed: [WriterDesk.Ended] = []

    /// `makeWriter` is called on the new thread.
    init(_ name: String, _ makeWriter: @escaping @Sendable () -> any LineWriter) {
        self.name = name
        self.makeWriter = makeWriter
    }

    var isIdle: Bool { waiting.isEmpty }

    /// The writer repairs what an earlier process left. A failed start is retried with lines.
    func begin(on loop: TransferLoop) { try? open(loop) }

    private func open(_ loop: TransferLoop) throws(SystemError) {
        guard desk == nil else { return }
        let new = try WriterDesk(name, loop, makeWriter)
        if let newSettings { new.post(newSettings) }
        desk = new
    }

    func start(
        _ work: CarrierWork,
        on loop: TransferLoop,
        whenDone: @escaping (CarriedWork) -> Void
    ) -> Int {
        guard case .lines(let text) = work else {
            preconditionFailure("this output's carrier is another one")
        }
        lastTicket += 1
        waiting[lastTicket] = Waiting(started: .now, bytes: text.count, whenDone: whenDone)
        do throws(SystemError) {
            try open(loop)
            desk?.post(text, ticket: lastTicket)
        } catch {
            failed.append((lastTicket, WriteProblem(error, "the thread that writes")))
            loop.wake()
        }
        return text.count
    }

    func finishEnded() -> Int {
        let ended = (desk?.takeEnded() ?? []) + failed
        failed = []
        for (ticket, problem) in ended {
            guard let work = waiting.removeValue(forKey: ticket) else {
                preconditionFailure("a piece of work ends once")
            }
            work.whenDone(
                CarriedWork(
                    outcome: .lines(problem),
                    started: work.started,
                    bytes: work.bytes,
                    isTaken: true,
                    isRepeated: false
                )
            )
        }
        return ended.count
    }

    func use(_ settings: Destination, _ now: Moment) {
        newSettings = settings
        desk?.post(settings)
    }

    /// Packets that were not acknowledged are still in the queue.
    func abandon(_ loop: TransferLoop) {
        waiting = [:]
        desk?.stop()
        desk = nil
    }
}

/// What the delivery thread and a writer's thread exchange.
private final class WriterDesk: Sendable {
    private enum Order: Sendable {
        case write([UInt8], ticket: Int)
        case use(Destination)
    }

    typealias Ended = (ticket: Int, problem: WriteProblem?)

    private let orders: Mailbox<Order>
    private let ended: Mailbox<Ended>
    private let wake: WakeUp
    private let isStopping = Atomic(false)
    private let hasStopped: Promise<Void>
    private let worker = Locked<Worker?>(nil)

    private static let stopPatience: Duration = .seconds(2)

    init(
        _ name: String,
        _ loop: TransferLoop,
        _ makeWriter: @escaping @Sendable () -> any LineWriter
    ) throws(SystemError) {
        let wake = try WakeUp()
        self.wake = wake
        hasStopped = try Promise()
        orders = Mailbox { wake.signal() }
        ended = Mailbox { loop.wake() }
        let worker = try Worker(name) { [self] in
            run(makeWriter())
            hasStopped.bring(())
        }
        self.worker.withLock { $0 = worker }
    }

    func post(_ text: [UInt8], ticket: Int) { orders.post(.write(text, ticket: ticket)) }
    func post(_ settings: Destination) { orders.post(.use(settings)) }
    func takeEnded() -> [Ended] { ended.takeAll() }

    /// Waits for the present write, but not for a disk that hangs.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        guard let worker = worker.withLock({ $0.take() }) else { return }
        if hasStopped.wait(atMost: Self.stopPatience) == nil {
            worker.leave()
        } else {
            worker.join()
        }
    }

    private var isEnding: Bool { isStopping.load(ordering: .acquiring) }

    private func run(_ writer: any LineWriter) {
        // At the start the writer tends to what an earlier process left.
        var pause: Duration? = .zero
        while true {
            wake.wait(timeout: pause)
            if isEnding { return }
            var texts: [[UInt8]] = []
            var tickets: [Int] = []
            for order in orders.takeAll() {
                switch order {
                case .write(let text, let ticket):
                    texts.append(text)
                    tickets.append(ticket)
                case .use(let settings): writer.use(settings)
                }
            }
            if !texts.isEmpty {
                let problems = writer.write(texts) { isEnding }
                for (ticket, problem) in zip(tickets, problems) { ended.post((ticket, problem)) }
            }
            pause = writer.tend()
        }
    }
}

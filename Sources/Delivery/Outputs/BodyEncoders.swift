import System

/// What a destination gets of a packet's content.
struct PacketBody: Sendable {
    let pieces: [ArraySlice<UInt8>]
    /// Before compression.
    let rawBytes: Int
}

/// Threads that encode bodies: compression and JSON would hold up the delivery thread, and with it
/// all destinations. They begin with the first body. For the delivery thread only.
///
/// How large a body becomes is known when it is there, so few are encoded at a time, of all
/// destinations together.
final class BodyEncoders {
    typealias Outcome = Result<PacketBody, Unsendable>

    struct Encoded: Sendable {
        let destination: Int
        let ticket: Int
        let outcome: Outcome
        /// nil: the delivery thread encoded it.
        fileprivate let worker: Int?
    }

    private struct Job: Sendable {
        let destination: Int
        let ticket: Int
        let encode: @Sendable () throws(Unsendable) -> PacketBody
    }

    /// More threads would take the cores from those that accept logs.
    private static let threads = min(4, coreCount)
    /// Each thread has a body, and as many wait.
    private static let underWayMax = 2 * threads

    private let encoded: Mailbox<Encoded>
    private var workers: [SerialWorker] = []
    private var idle: [Int] = []
    private var jobs: [Job] = []
    private var underWay = 0
    private var waiters = GateWaiters()

    /// `wake` is called when a body is there.
    init(wake: @escaping @Sendable () -> Void) {
        encoded = Mailbox(wake: wake)
    }

    var isFull: Bool { underWay >= Self.underWayMax }

    func wait(_ entry: AgendaEntry) { waiters.add(entry) }

    /// Encodes on a thread of its own; here, if the system has none left. `takeEncoded` has the
    /// body.
    func begin(
        for destination: Int,
        ticket: Int,
        _ encode: @escaping @Sendable () throws(Unsendable) -> PacketBody
    ) {
        if workers.isEmpty { startWorkers() }
        underWay += 1
        jobs.append(Job(destination: destination, ticket: ticket, encode: encode))
        dispatch()
    }

    private func startWorkers() {
        workers = (1...Self.threads).compactMap { number in
            guard let worker = try? SerialWorker("encode-\(number)"),
                (try? worker.start()) != nil
            else { return nil }
            return worker
        }
        idle = Array(workers.indices)
    }

    /// Gives each idle thread the oldest job. A thread has one at a time, so none waits behind a
    /// large one while another thread is idle.
    private func dispatch() {
        while !jobs.isEmpty, !idle.isEmpty || workers.isEmpty {
            let (job, worker) = (jobs.removeFirst(), idle.popLast())
            let work = { @Sendable [encoded] in
                let outcome = Result { () throws(Unsendable) in try job.encode() }
                encoded.post(
                    Encoded(
                        destination: job.destination,
                        ticket: job.ticket,
                        outcome: outcome,
                        worker: worker
                    )
                )
            }
            if let worker, workers[worker].post(work) { continue }
            work()
        }
    }

    func takeEncoded() -> [Encoded] {
        let taken = encoded.takeAll()
        guard !taken.isEmpty else { return [] }
        underWay -= taken.count
        idle += taken.compactMap(\.worker)
        dispatch()
        waiters.wake()
        return taken
    }

    /// Waits for the bodies that are being encoded.
    func stop() {
        jobs = []
        for worker in workers { worker.stop() }
    }
}

import System

/// What a destination gets of a packet's content.
struct PacketBody: Sendable {
    let pieces: [ArraySlice<UInt8>]
    /// Before compression.
    let rawBytes: Int
}

/// Threads that encode bodies: compression and JSON would hold up the delivery thread, and with it
/// all destinations. They begin with the first body. For the delivery thread only.
final class BodyEncoders {
    typealias Outcome = Result<PacketBody, Unsendable>
    typealias Encoded = (destination: Int, ticket: Int, outcome: Outcome)

    /// How many there may be; more would take the cores from the threads that accept logs.
    static let count = min(4, coreCount)

    private let encoded: Mailbox<Encoded>
    private var workers: [SerialWorker] = []
    private var next = 0

    /// `wake` is called when a body is there.
    init(wake: @escaping @Sendable () -> Void) {
        encoded = Mailbox(wake: wake)
    }

    /// Encodes on one of them; here, if the system has no thread left. `takeEncoded` has the body.
    func begin(
        for destination: Int,
        ticket: Int,
        _ encode: @escaping @Sendable () throws(Unsendable) -> PacketBody
    ) {
        let job = { @Sendable [encoded] in
            encoded.post((destination, ticket, Result(catching: encode)))
        }
        if workers.isEmpty { workers = (1...Self.count).compactMap(Self.worker) }
        guard !workers.isEmpty else { return job() }
        next = (next + 1) % workers.count
        // The memory for bodies bounds how many wait.
        if !workers[next].post(continuing: true, job) { job() }
    }

    private static func worker(_ number: Int) -> SerialWorker? {
        guard let worker = try? SerialWorker("encode-\(number)"),
            (try? worker.start()) != nil
        else { return nil }
        return worker
    }

    func takeEncoded() -> [Encoded] { encoded.takeAll() }

    func stop() {
        for worker in workers { worker.stop() }
    }
}

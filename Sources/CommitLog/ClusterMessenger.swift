import Synchronization
package import System

/// Messages between gateways, for what may be missing: one is lost if its receiver does not listen.
/// They travel in parts (`MessageParts`). Calls may come from any thread.
package protocol ClusterMessenger: Sendable {
    var partBytesMax: Int { get }

    /// Why this gateway cannot listen at this moment; nil: it can.
    var problem: String? { get }

    /// Receives messages to this gateway or to all, perhaps its own, until `stop` and over lost
    /// connections. The receiver runs on a thread of the engine, and must not wait.
    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) throws(CommitLogError)

    /// Sends a message to the gateways of a node; nil: to all. Blocks until the engine takes it.
    func send(_ parts: [[UInt8]], to node: String?) throws(CommitLogError)

    /// Ends the listening. No call of the receiver comes later.
    func stop()
}

/// Cuts messages into parts and joins them. A part has a random number, its index and the count.
package struct MessageParts {
    /// What one message may have.
    package static let messageBytesMax = 64 << 20
    /// What the parts of unfinished messages may have together.
    static let heldBytesMax = 128 << 20
    /// A message whose parts did not come within so long has lost one.
    static let patience = Duration.seconds(10)
    private static let headBytes = 16

    private static let unfinishedMax = 64
    /// What a part takes beside its bytes, about.
    private static let partCost = 64

    private struct Unfinished {
        var parts: [Int: [UInt8]] = [:]
        let count: Int
        var bytes = 0
        let begun: Moment
    }

    private var unfinished: [UInt64: Unfinished] = [:]
    private var heldBytes = 0

    package init() {}

    package static func cut(_ message: [UInt8], to partBytesMax: Int) -> [[UInt8]] {
        precondition(message.count <= messageBytesMax, "the message is too large")
        let size = partBytesMax - headBytes
        let count = max(1, (message.count + size - 1) / size)
        let number = UInt64.random(in: 0...UInt64.max)
        return (0..<count).map { index in
            var part: [UInt8] = []
            let rest = message[min(index * size, message.count)...].prefix(size)
            part.reserveCapacity(headBytes + rest.count)
            for value in [number, UInt64(index) << 32 | UInt64(count)] {
                for shift in stride(from: 56, through: 0, by: -8) {
                    part.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
                }
            }
            part += rest
            return part
        }
    }

    /// The message that this part completes; nil: others are missing, or it is no part.
    package mutating func add(_ part: [UInt8], _ now: Moment) -> [UInt8]? {
        guard part.count >= Self.headBytes else { return nil }
        func value(_ at: Int) -> UInt64 { part[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        let (number, place) = (value(0), value(8))
        let (index, count) = (Int(place >> 32), Int(place & 0xFFFF_FFFF))
        guard count > 0, index < count, count <= Self.messageBytesMax / 1024 else { return nil }
        let body = Array(part[Self.headBytes...])
        forget(now)
        if count == 1 { return body }
        // Taken out, so that it is not copied with each part.
        guard
            var message = unfinished.removeValue(forKey: number)
                ?? (unfinished.count < Self.unfinishedMax
                    ? Unfinished(count: count, begun: now) : nil)
        else { return nil }
        let cost = body.count + Self.partCost
        let fits =
            message.count == count && message.parts[index] == nil
            && message.bytes + body.count <= Self.messageBytesMax
            && heldBytes + cost <= Self.heldBytesMax
        if fits {
            message.parts[index] = body
            message.bytes += body.count
            heldBytes += cost
        }
        guard message.parts.count == message.count else {
            unfinished[number] = message
            return nil
        }
        heldBytes -= Self.cost(of: message)
        return Array((0..<count).compactMap { message.parts[$0] }.joined())
    }

    private static func cost(of message: Unfinished) -> Int {
        message.bytes + message.parts.count * partCost
    }

    private mutating func forget(_ now: Moment) {
        for (number, message) in unfinished where now - message.begun > Self.patience {
            heldBytes -= Self.cost(of: message)
            unfinished[number] = nil
        }
    }
}

/// The thread on which a messenger listens, until it is stopped.
final class ListeningThread: Sendable {
    private let isStopping = Atomic<Bool>(false)
    private let worker = Locked<Worker?>(nil)
    /// Signalled by `stop`.
    let ending: WakeUp

    init() throws(CommitLogError) {
        ending = try CommitLogError.onSystem { () throws(SystemError) in try WakeUp() }
    }

    var hasEnded: Bool { isStopping.load(ordering: .acquiring) }

    func start(_ body: @escaping @Sendable () -> Void) throws(CommitLogError) {
        let started = try CommitLogError.onSystem { () throws(SystemError) in
            try Worker("messages", body)
        }
        worker.withLock { $0 = started }
    }

    /// Waits so long, or until `stop`.
    func pause(_ time: Duration) { ending.wait(timeout: time) }

    /// Ends pauses, calls `wake` to end what else the thread waits for, and waits for the thread.
    func stop(_ wake: () -> Void = {}) {
        isStopping.store(true, ordering: .releasing)
        ending.signal()
        wake()
        worker.withLock { $0.take() }?.join()
    }
}

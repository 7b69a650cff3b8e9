import Configuration
import HTTPClient
import Logs
import Queue
import SLS
import System

/// What differs between kinds of destinations: how a packet becomes work, and what an outcome
/// means. An output opens nothing and waits for nothing; a carrier does the work.
protocol Output: Sendable {
    var settings: Destination { get }

    /// How many bytes the work for a packet may have at most.
    func bodyBytesMax(of lease: Lease) -> Int

    /// True when `body` takes long, so that it belongs on another thread than delivery's.
    var encodesSlowly: Bool { get }

    func body(of packet: SealedPacket, _ blocks: [StoredBlock]) throws(Unsendable) -> PacketBody

    /// `endpoint` is one of the settings. `time` is the destination's, as far as it is known.
    func work(
        for packet: SealedPacket,
        _ body: PacketBody,
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) -> CarrierWork

    /// `credential` is the one that the work was made with.
    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement
}

/// A packet that can never be sent as it is.
struct Unsendable: Error, Equatable {
    let reason: String
    /// The content is not what it was; else the packet was never one that could be sent.
    var isDamage = false
}

extension Output {
    /// Refuses rows that do not add up to the packet that was sealed.
    func checkSize(of packet: SealedPacket, _ blocks: [StoredBlock]) throws(Unsendable) {
        let stored = blocks.reduce(0) { $0 + $1.rawBytes }
        guard stored == packet.rawBytes else {
            throw Unsendable(
                reason: "the queue has \(stored) bytes of a packet that was sealed with "
                    + "\(packet.rawBytes)",
                isDamage: true
            )
        }
    }
}

/// Does a destination's work. All calls come from the delivery thread.
protocol Carrier: AnyObject {
    /// No work is under way.
    var isIdle: Bool { get }

    /// The delivery thread begins.
    func begin(on loop: TransferLoop)

    /// Starts the work; returns the bytes that stay in memory until it ends. `whenDone` is called
    /// once on the delivery thread, never from here, and not after `abandon`.
    func start(
        _ work: CarrierWork,
        on loop: TransferLoop,
        whenDone: @escaping (CarriedWork) -> Void
    ) -> Int

    /// Calls `whenDone` of work that has ended on another thread; returns how much there was.
    func finishEnded() -> Int

    /// The settings have changed, so new work is done with these.
    func use(_ settings: Destination, _ now: Moment)

    /// Addresses of hosts have changed. Returns true if a host that had none, or none that worked,
    /// has another one.
    func addressesChanged(on loop: TransferLoop) -> Bool

    /// Gives up what is under way.
    func abandon(_ loop: TransferLoop)
}

/// What an output makes of a packet.
enum CarrierWork {
    case request(TransferRequest)
    case lines([UInt8])
}

/// How a piece of work ended.
enum CarrierOutcome {
    case request(TransferOutcome)
    /// nil: the lines are safe.
    case lines(WriteProblem?)

    /// nil: no connection was used.
    var route: TransferRoute? {
        if case .request(let outcome) = self { outcome.route } else { nil }
    }
}

/// A piece of work that has ended.
struct CarriedWork {
    let outcome: CarrierOutcome
    let started: Moment
    let bytes: Int
    /// Something of it may have arrived, whatever the outcome says.
    let isTaken: Bool
    /// It was done again because an earlier try had no outcome.
    let isRepeated: Bool
    /// No connection could be made, and the host has another address that may do better.
    var hasOtherAddress = false
}

extension Carrier {
    func addressesChanged(on loop: TransferLoop) -> Bool { false }
}

extension Output {
    /// The logs of a packet as JSON. One that becomes too long is taken apart, since topic, source
    /// and tags stand in each log.
    func json(
        of packet: SealedPacket,
        _ blocks: [StoredBlock],
        as shape: LogJSON.Shape,
        _ framing: LogJSON.Framing
    ) throws(Unsendable) -> [UInt8] {
        try checkSize(of: packet, blocks)
        var json = LogJSON(shape, framing, of: packet.stream.trailer, bytesMax: jsonBytesMax)
        do {
            for block in blocks {
                let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
                try raw.withUnsafeBytes { raw in try json.append(raw) }
            }
        } catch {
            throw Unsendable(reason: "a row of the packet is damaged: \(error)", isDamage: true)
        }
        guard !json.isTooLarge else {
            throw Unsendable(reason: "the packet becomes more than \(jsonBytesMax) bytes of JSON")
        }
        return json.finish()
    }

    /// What the JSON of a packet has as a rule; only its content tells more.
    func jsonBytes(of packet: SealedPacket) -> Int {
        let perLog = 64 + packet.stream.trailer.bytes.count
        return min(jsonBytesMax, packet.rawBytes + packet.rawBytes / 8 + packet.logCount * perLog)
    }
}

/// As much as the smallest `delivery_memory`.
let jsonBytesMax = LimitSettings.deliveryBytesLeast

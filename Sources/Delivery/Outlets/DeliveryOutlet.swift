import Queue
import SLS
import System

/// A logstore of a destination on the delivery thread: its packets, its gate, and its state.
final class DeliveryOutlet {
    enum Turn {
        case none, inLine, inLineToProbe, asleep
    }

    let name: Outlet
    var gate: Gate
    var line = PacketLine()
    var evidence = Evidence()
    /// Why its gate is closed.
    var pause: Pause?
    var notices = FailureNotices()
    var status: OutletStatus
    /// The queue has forgotten it; it goes when its last packet has.
    private(set) var isRetired = false

    /// For `Turns`: the line that it stands in, and the number of its live entry there.
    var turn = Turn.none
    var ticket = 0
    /// For `OutletRegistry`: it had packets on lease when last visited, and changed since.
    private(set) var isBusy = false
    var isDirty = false

    init(_ name: Outlet, _ gate: Gate) {
        self.name = name
        self.gate = gate
        status = OutletStatus(logstore: name.logstore)
    }

    /// The queue has forgotten it, and delivery has none of its packets.
    var isOver: Bool { isRetired && line.isEmpty }
    /// Its gate lets single requests through.
    var isProbing: Bool { gate.probing != nil }

    /// The queue has logs for it.
    func announced() {
        isRetired = false
        line.forgetRequests()
    }

    /// The queue has forgotten it, and what it was asked for.
    func retired() {
        isRetired = true
        line.forgetRequests()
    }

    /// Notes whether it has packets on lease. True when that has changed.
    func noteBusy() -> Bool {
        let wasBusy = isBusy
        isBusy = !line.isEmpty
        return isBusy != wasBusy
    }

    /// The host's clock is right again: what was refused meanwhile says nothing any more.
    func clockIsRight() {
        line.recall()
        if pause?.isClockPause == true { evidence.forget() }
    }

    /// The settings have changed, which may have ended the reason of a pause.
    func renew(concurrency: Int, _ now: Moment) {
        gate.widen(to: concurrency)
        gate.reopen(now)
        pause = nil
        // That packets were stored with the old settings proves nothing about the new ones.
        evidence.forget()
    }
}

/// A packet on lease from the queue, with what was learned about it.
struct Lease {
    private(set) var packet: SealedPacket
    /// A request with it had an unknown outcome: SLS may have it already.
    var mayBeStored = false
    /// When a request with it failed for the first time.
    var firstFailure: Moment?
    /// Refusals that may be its own fault, or that of the settings.
    var suspicions = 0
    /// The credential that had no permission, where the operator wants such packets dropped.
    var refused: Credential?
    /// It waits for the host's clock.
    var awaitsClock = false
    /// Failed attempts to read its content, in a row.
    var unread = 0
    /// How often it was signed again for SLS's clock.
    var resigned = 0

    init(_ packet: SealedPacket) {
        self.packet = packet
    }

    /// SLS may know it by the number that it has in its lane.
    var mayBeKnown: Bool { packet.lane != nil && (mayBeStored || packet.isRecovered) }

    /// Lets go of the content, which the queue gives again when it is asked.
    mutating func dropContent() {
        packet = packet.withoutContent
    }

    /// Bytes that it keeps in memory.
    var contentBytes: Int { packet.recent?.reduce(0) { $0 + $1.compressed.count } ?? 0 }
}

/// The evidence on an outlet that refuses packets. While it stores others, a refused packet is at
/// fault itself. Otherwise the settings may be, and no log may become a dead letter for that.
struct Evidence {
    /// How long a stored packet proves that the settings are right.
    static let lasts: Duration = .seconds(300)
    /// After more suspects in a row it proves nothing any more.
    static let suspectsMax = 8
    /// Halvings without evidence, until something is stored: enough to reach a single log even if
    /// every other halving is spent on another packet.
    static let halvingsMax = 32
    /// Lone logs that may be refused in a row while nothing is stored. Where half of the logs are
    /// bad, one run in 65,000 is so long. A longer one has another reason, or nearly every log is
    /// bad.
    static let loneRefusalsMax = 16

    private var lastStored: Moment?
    private var suspects = 0
    private var halvings = 0
    private var loneRefusals = 0

    mutating func stored(_ now: Moment) {
        self = Evidence()
        lastStored = now
    }

    /// Takes in a judgement. What refuses everything proves nothing against the packet.
    mutating func weigh(_ original: Judgement, of lease: Lease) -> Judgement {
        var judgement = original
        if judgement.isOfContent,
            refused(isAlone: lease.packet.logCount == 1, isReplayed: lease.packet.isReplayed)
        {
            judgement = judgement.blamingLogstore
        }
        if judgement.action == .suspect { suspected() }
        return judgement
    }

    /// A packet was refused, and it is not clear whether it is at fault.
    mutating func suspected() {
        suspects += 1
    }

    /// A packet was refused for its content. True when so many lone logs were refused in a row that
    /// another reason is likelier. Packets of several logs prove nothing, but the queue hands over
    /// their smallest pieces first. Replayed dead letters were refused before, and prove nothing.
    mutating func refused(isAlone: Bool, isReplayed: Bool = false) -> Bool {
        if isAlone, !isReplayed { loneRefusals += 1 }
        return loneRefusals > Self.loneRefusalsMax
    }

    /// The settings have changed.
    mutating func forget() {
        self = Evidence()
    }

    /// True when the outlet's other packets prove that this packet is at fault.
    func isPacketAtFault(_ lease: Lease, _ now: Moment) -> Bool {
        guard let lastStored else { return false }
        if let first = lease.firstFailure, lastStored > first { return true }
        return suspects <= Self.suspectsMax && now - lastStored < Self.lasts
    }

    /// Counts a halving, which shows if a part of a packet is stored; false beyond the most.
    mutating func spendHalving() -> Bool {
        halvings += 1
        return halvings <= Self.halvingsMax
    }
}

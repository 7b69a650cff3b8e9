import Queue
import System

/// The evidence on an outlet that refuses packets. While it stores other packets, a refused one is
/// at fault itself. Otherwise the settings may be at fault, and no log may become a dead letter for
/// that.
struct Evidence {
    /// How long a stored packet proves that the settings are right.
    static let lasts: Duration = .seconds(300)
    /// After more suspects in a row it proves nothing any more.
    static let suspectsMax = 8
    /// Halvings without evidence, until something is stored: enough to reach a single log even if
    /// every other halving is spent on another packet.
    static let halvingsMax = 32
    /// So many lone logs may be refused in a row for their content while nothing is stored. Where
    /// half of the logs are bad, one run in 65,000 is so long. A longer one has another reason, or
    /// nearly every log is bad.
    static let loneRefusalsMax = 16

    private var lastStored: Moment?
    private var suspects = 0
    private var halvings = 0
    private var loneRefusals = 0

    mutating func stored(_ now: Moment) {
        self = Evidence()
        lastStored = now
    }

    /// Takes in what SLS said of a packet. What refuses all that is sent to the outlet proves
    /// nothing against the packet.
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
    /// another reason is likelier. Packets of several logs prove nothing: each may have a bad one.
    /// But the queue hands over the smallest pieces of them first, so that lone logs soon tell.
    /// Replayed dead letters prove nothing either: they were refused before.
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

    /// Counts one halving more, which shows if a part of a packet is stored. Returns false beyond
    /// the most.
    mutating func spendHalving() -> Bool {
        halvings += 1
        return halvings <= Self.halvingsMax
    }
}

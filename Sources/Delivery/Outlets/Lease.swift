import Queue
import SLS
import System

/// A packet that delivery has from the queue until it is given back, with what was learned about
/// it.
struct Lease {
    private(set) var packet: SealedPacket
    /// A request with it had an unknown outcome: SLS may have it already.
    var mayBeStored = false
    /// When a request with it failed for the first time.
    var firstFailure: Moment?
    /// Refusals that may be its own fault, or that of the settings.
    var suspicions = 0
    /// The credential that it was refused with for want of a permission, where the operator wants
    /// such packets dropped.
    var refused: Credential?
    /// It waits for the host's clock.
    var awaitsClock = false
    /// Failed attempts to read its content, in a row.
    var unread = 0
    /// How often it was signed again at once, because SLS's clock was found to be another.
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

import HTTPClient
import Queue
import SLS
import System

/// What is different about each kind of destination: how a packet becomes work, and what an outcome
/// means. An output opens nothing and waits for nothing; a carrier does the work.
protocol Output: Sendable {
    var settings: DestinationSettings { get }

    /// How many bytes the work for a packet may have at most.
    func bodyBytesMax(of lease: Lease) -> Int

    /// `endpoint` is one of the settings' endpoints. `credential` is there for a kind that needs
    /// one. `time` is the destination's, as far as it is known.
    func work(
        for packet: SealedPacket,
        _ blocks: [StoredBlock],
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) throws(Unsendable) -> CarrierWork

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

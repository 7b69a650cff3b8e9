/// What other threads ask of the owner.
enum Message: Sendable {
    case append(Append)
    case deliver(@Sendable ([SealedPacket]) -> Void)
    case announce(@Sendable ([Outlet]) -> Void)
    case retire(@Sendable ([Outlet]) -> Void)
    case request(Int, destination: String)
    case requestOf(Outlet, Int)
    case acknowledge(Int64)
    case isolate(Int64, DeathReason)
    case discard(Int64, DeathReason)
    case relane(Int64)
    case flush(String)
    case apply([String: DestinationRules])
    /// Delivery could not read this packet.
    case unreadable(Int64)
    case stop
}

/// Batches of one call, which are stored all or none.
struct Append: Sendable {
    let batches: [Batch]
    /// Of the logs and of the streams they go to.
    let rawBytes: Int
    let answer: @Sendable (AppendOutcome) -> Void
    /// Decided already: too much waits.
    var refusal: QueueAdmission?
}

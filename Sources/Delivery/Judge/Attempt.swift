/// What is known about a packet when the answer to one of its requests is judged.
struct Attempt: Equatable {
    /// An earlier request with it had an unknown outcome, or was sent before the last start: it may be
    /// stored already.
    var mayBeStored = false
    /// The request was signed anew because SLS had found the clock wrong.
    var isResigned = false
    /// It was sent with a hash key and a sequence number.
    var hasLane = false
}

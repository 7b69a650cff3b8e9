import System

/// How fast a client takes the answer that waits for it, by what its side of the connection has acknowledged.
///
/// Bytes that the kernel takes say little: its buffer fills at once and then moves in large steps. So the kernel is
/// asked how much it still has, and only when a deadline has come.
struct SendPace {
    private let began: Moment
    /// What the kernel had when the answer began to wait.
    private let kernelBytes: Int
    /// What it was given since.
    private var givenBytes = 0
    private var takenBytes = 0
    private var lastProgress: Moment
    /// When to look at it, however little or much is sent until then.
    private(set) var nextLook: Moment

    init(at now: Moment, kernelBytes: Int, _ limits: HTTPServer.Limits) {
        began = now
        self.kernelBytes = kernelBytes
        lastProgress = now
        nextLook = now + limits.writeTime
    }

    mutating func give(_ bytes: Int) {
        givenBytes += bytes
    }

    /// Whether the client goes on as it must: something within each `writeTime`, and after the first one the average.
    mutating func isKept(at now: Moment, kernelBytes left: Int, _ limits: HTTPServer.Limits) -> Bool
    {
        let taken = kernelBytes + givenBytes - left
        if taken > takenBytes {
            takenBytes = taken
            lastProgress = now
        }
        let average = Duration.seconds(Double(takenBytes) / Double(max(1, limits.answerRateMin)))
        let end = min(lastProgress + limits.writeTime, began + limits.writeTime + average)
        nextLook = end
        return now < end
    }
}

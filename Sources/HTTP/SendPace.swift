import System

/// Measures how fast a client takes its answer, by the bytes that its side has acknowledged.
///
/// The bytes that the kernel accepts say little: its buffer fills at once and then moves in large
/// steps. So the kernel is asked for its unacknowledged bytes, and only at deadlines.
struct SendPace {
    private let began: Moment
    /// The kernel's unacknowledged bytes when the answer began to wait.
    private let kernelBytes: Int
    /// Bytes given to the kernel since then.
    private var givenBytes = 0
    private var takenBytes = 0
    private var lastProgress: Moment
    /// The next deadline; sending does not move it.
    private(set) var nextCheck: Moment

    init(at now: Moment, kernelBytes: Int, _ limits: HTTPServer.Limits) {
        began = now
        self.kernelBytes = kernelBytes
        lastProgress = now
        nextCheck = now + limits.writeTime
    }

    mutating func addSent(_ bytes: Int) {
        givenBytes += bytes
    }

    /// Returns true if the client makes progress in each `writeTime`, and keeps the average after
    /// the first one.
    mutating func check(at now: Moment, kernelBytes left: Int, _ limits: HTTPServer.Limits) -> Bool
    {
        let taken = kernelBytes + givenBytes - left
        if taken > takenBytes {
            takenBytes = taken
            lastProgress = now
        }
        let average = Duration.seconds(Double(takenBytes) / Double(max(1, limits.answerRateMin)))
        let end = min(lastProgress + limits.writeTime, began + limits.writeTime + average)
        nextCheck = end
        return now < end
    }
}

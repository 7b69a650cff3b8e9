import System

/// A few results in a row, and what they say about the number in flight.
struct ResultWindow: Equatable {
    static let resultsMax = 10
    static let length: Duration = .seconds(3)

    enum Outcome: Equatable {
        case grow, stay, shrink, halve
    }

    private var began: Moment?
    private var results = 0
    private var failures = 0

    /// Counts a result; the outcome of the window when it ends with it. It ends early when nothing
    /// can change its outcome any more.
    mutating func count(isFailure: Bool, _ now: Moment) -> Outcome? {
        let began = began ?? now
        self.began = began
        results += 1
        if isFailure { failures += 1 }
        let isFull = results >= Self.resultsMax || now - began > Self.length
        guard isFull || failures * 10 > Self.resultsMax * 4 else { return nil }
        defer { self = ResultWindow() }
        if failures == 0 { return .grow }
        let percent = failures * 100 / max(results, 1)
        if percent <= 10 { return .stay }
        return percent <= 40 ? .shrink : .halve
    }
}

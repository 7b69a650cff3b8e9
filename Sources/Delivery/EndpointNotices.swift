import System

/// How many switches between endpoints are worth a line in the journal: where two of them come and go
/// under load, they may be many a second. The status always tells which one is in use.
struct EndpointNotices {
    static let linesMax = 4
    static let interval: Duration = .seconds(60)

    private var began: Moment?
    private var lines = 0
    private var passedOver = 0

    /// How many were passed over since the last line; nil when this one is passed over too.
    mutating func happened(_ now: Moment) -> Int? {
        if began.map({ now - $0 >= Self.interval }) ?? true {
            began = now
            lines = 0
        }
        guard lines < Self.linesMax else {
            passedOver += 1
            return nil
        }
        lines += 1
        defer { passedOver = 0 }
        return passedOver
    }
}

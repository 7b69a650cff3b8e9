import System

/// Which failures are worth a journal line: the first of each kind, then one a minute, and the end.
struct FailureNotices {
    static let interval: Duration = .seconds(60)

    private struct Record {
        var told: Moment
        var passedOver = 0
    }

    private var records: [DeliveryFailure.Kind: Record] = [:]
    private var isTold = false

    /// How many of this kind were passed over since the last line; nil when this one is too.
    mutating func failed(_ kind: DeliveryFailure.Kind, _ now: Moment) -> Int? {
        if let record = records[kind], now < record.told + Self.interval {
            records[kind]?.passedOver += 1
            return nil
        }
        defer { records[kind] = Record(told: now) }
        isTold = true
        return records[kind]?.passedOver ?? 0
    }

    /// True when the recovery is worth a line, because the failure was.
    mutating func succeeded() -> Bool {
        defer { isTold = false }
        return isTold
    }
}

/// Which endpoint switches are worth a journal line: under load there may be many a second. The
/// status always tells which one is in use.
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

import System

/// When hosts are asked for again after the machine's network has changed: a second after the first
/// change, because addresses and routes come one by one, and at most once a minute, however often
/// an interface comes and goes.
struct NetworkChanges {
    static let settleTime: Duration = .seconds(1)
    static let intervalMin: Duration = .seconds(60)

    private(set) var due: Moment?
    private var last: Moment?

    mutating func changed(at now: Moment) {
        guard due == nil else { return }
        due = max(now + Self.settleTime, last.map { $0 + Self.intervalMin } ?? now)
    }

    /// What makes no difference to the network delays nothing that does.
    mutating func takeDue(_ now: Moment, differs: () -> Bool = { true }) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        guard differs() else { return false }
        last = now
        return true
    }
}

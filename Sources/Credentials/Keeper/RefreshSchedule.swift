import System

/// When a source is asked next.
struct RefreshSchedule {
    /// nil: not before a file changes or somebody asks.
    private(set) var due: WallTime?
    private var lastCall: WallTime?
    private var files: [String]
    private var stamps: [FileStamp] = []

    /// The first time is at once.
    init(files: [String]) {
        self.files = files
        due = WallTime(seconds: 0)
    }

    mutating func watch(_ files: [String]) {
        guard files != self.files else { return }
        self.files = files
        stamps = files.map(FileStamp.init)
    }

    func isDue(_ now: WallTime) -> Bool {
        if let due, due <= now { return true }
        // The clock was set back: what was planned by it means nothing.
        if let lastCall, now + .seconds(5) < lastCall { return true }
        return !files.isEmpty && files.map(FileStamp.init) != stamps
    }

    /// The files as they are before they are read: a change while they are is seen afterwards.
    mutating func begin(_ now: WallTime) {
        lastCall = now
        stamps = files.map(FileStamp.init)
    }

    mutating func hasten(_ now: WallTime) {
        let earliest = lastCall.map { max(now, $0 + Attendant.callInterval) } ?? now
        due = due.map { min($0, earliest) } ?? earliest
    }

    /// A source that still gives the old credential, as the metadata of ECS does until it has the next
    /// one, is asked about once a minute.
    mutating func succeed(_ now: WallTime, _ kept: SuppliedCredential, random: Double) {
        guard let end = kept.usableUntil, let time = kept.refreshTime(random: random) else {
            due = nil
            return
        }
        let pause = max(Attendant.callInterval, min(.seconds(60), (end - now) / 2))
        due = max(time, now + pause)
    }

    mutating func fail(_ now: WallTime, wait: Duration) {
        due = now + wait
    }

    func nextLook(_ now: WallTime) -> WallTime? {
        guard !files.isEmpty else { return due }
        let look = now + Attendant.fileInterval
        return due.map { min($0, look) } ?? look
    }
}

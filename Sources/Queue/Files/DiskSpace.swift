import Glibc
import System

/// The free space of the queue's file system, asked for now and then, never per request.
struct DiskSpace {
    private let path: String
    private let interval: Duration
    private var asked: Moment?
    private(set) var freeBytes = Int.max

    init(_ path: String, every interval: Duration) {
        self.path = path
        self.interval = interval
    }

    /// Looks again when the last look is old enough.
    mutating func refresh(_ now: Moment) {
        if let asked, now - asked < interval { return }
        asked = now
        look()
    }

    mutating func look() {
        var about = statvfs()
        guard statvfs(path, &about) == 0 else { return }
        let (free, overflow) = Int(clamping: about.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: about.f_frsize))
        freeBytes = overflow ? .max : free
    }
}

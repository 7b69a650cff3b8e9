import Glibc

/// The free space of the queue's file system.
struct DiskSpace {
    private let path: String
    private(set) var freeBytes = Int.max

    init(_ path: String) {
        self.path = path
    }

    /// Asks the kernel: a microsecond, once a transaction.
    mutating func look() {
        var about = statvfs()
        guard statvfs(path, &about) == 0 else { return }
        let (free, overflow) = Int(clamping: about.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: about.f_frsize))
        freeBytes = overflow ? .max : free
    }
}

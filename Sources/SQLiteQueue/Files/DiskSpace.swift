import Glibc

/// The free space of the queue's file system.
struct DiskSpace {
    private let path: String
    /// As if the disk had no more than this for the directory; tests make disks small with it.
    private let bytesMax: Int?
    private(set) var freeBytes = Int.max

    init(_ path: String, bytesMax: Int? = nil) {
        self.path = path
        self.bytesMax = bytesMax
    }

    /// Asks the kernel: a microsecond, once a transaction.
    mutating func look() {
        var about = statvfs()
        guard statvfs(path, &about) == 0 else { return }
        let (free, overflow) = Int(clamping: about.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: about.f_frsize))
        freeBytes = overflow ? .max : free
        if let bytesMax { freeBytes = max(0, min(freeBytes, bytesMax - takenBytes)) }
    }

    /// What the directory's files take, each once whatever names it has.
    private var takenBytes: Int {
        var taken: [UInt: Int] = [:]
        for name in DataDirectory(path: path).names {
            var about = stat()
            guard stat("\(path)/\(name)", &about) == 0 else { continue }
            taken[UInt(about.st_ino)] = Int(about.st_blocks) * 512
        }
        return taken.values.reduce(0, +)
    }
}

import Glibc

/// The free space of the queue's file system.
struct DiskSpace {
    private let path: String
    /// A smaller size of the disk for the directory. Tests use it to make disks small.
    private let bytesMax: Int?
    private(set) var freeBytes = Int.max

    init(_ path: String, bytesMax: Int? = nil) {
        self.path = path
        self.bytesMax = bytesMax
    }

    /// Asks the kernel for the free space. Costs a microsecond; called once a transaction.
    mutating func look() {
        var about = statvfs()
        guard statvfs(path, &about) == 0 else { return }
        let (free, overflow) = Int(clamping: about.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: about.f_frsize))
        freeBytes = overflow ? .max : free
        if let bytesMax { freeBytes = max(0, min(freeBytes, bytesMax - takenBytes)) }
    }

    /// The bytes of the directory's files. A file with several names counts once.
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

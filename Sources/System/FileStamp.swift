import Glibc

/// Identifies the content at a path without reading it. It changes with every write and every rename, including a
/// rename of a symbolic link on the path.
package struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let byteCount: Int
    /// Seconds and nanoseconds of the last write (mtime) and of the last attribute change (ctime).
    private let times: [Int]

    /// nil if there is no file, or none that this process may look at.
    package init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
        byteCount = Int(facts.st_size)
        times = [
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec,
            facts.st_ctim.tv_nsec,
        ]
    }
}

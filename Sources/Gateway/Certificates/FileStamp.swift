import Glibc

/// What tells that another content came to be at a path, whatever way: a write, a rename, a symbolic link on the
/// way to it that points elsewhere.
struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let bytes: Int
    private let written: [Int]

    /// Nil where nothing is, or nothing that may be looked at.
    init?(of path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        device = UInt64(found.st_dev)
        number = UInt64(found.st_ino)
        bytes = Int(found.st_size)
        written = [
            found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_ctim.tv_sec,
            found.st_ctim.tv_nsec,
        ]
    }
}

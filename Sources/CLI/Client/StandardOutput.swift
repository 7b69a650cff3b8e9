import Glibc
import System

/// The command's standard output.
enum StandardOutput {
    static let descriptor: CInt = 1

    /// True once its reader has closed it, as `head` does when it has enough.
    static var isGone: Bool { isGone(within: .zero) }

    /// Waits up to this time for the reader to close it.
    static func isGone(within time: Duration) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        let count = poll(&entry, 1, CInt(clamping: time.milliseconds))
        return count > 0 && entry.revents & Int16(POLLERR | POLLNVAL) != 0
    }
}

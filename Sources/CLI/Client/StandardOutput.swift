import Glibc
import System

/// Where a command says what it was asked for.
enum StandardOutput {
    static let descriptor: CInt = 1

    /// Whether whoever read it has gone, as `head` does when it has enough.
    static var isGone: Bool { isGone(within: .zero) }

    /// The same, once some time has passed or as soon as it is so.
    static func isGone(within time: Duration) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        let count = poll(&entry, 1, CInt(clamping: time.milliseconds))
        return count > 0 && entry.revents & Int16(POLLERR | POLLNVAL) != 0
    }
}

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

/// A terminal's window, redrawn without flicker.
struct Screen: Equatable {
    let rows: Int
    let columns: Int

    /// nil when standard output is no terminal.
    static var current: Screen? {
        guard isatty(1) == 1 else { return nil }
        var size = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 2, size.ws_col > 2 else {
            return Screen(rows: 24, columns: 80)
        }
        return Screen(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// Draws the text from the top of the window, and counts the lines without room.
    func drawn(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var shown = ""
        var left = rows - 1
        for (index, line) in lines.enumerated() {
            let needed = max(1, (line.count + columns - 1) / columns)
            let rest = lines.count - index
            guard needed < left || needed == left && rest == 1 else {
                shown += "… \(counted(rest, "more line")): sluice status" + Self.restOfLine
                break
            }
            left -= needed
            shown += line + Self.restOfLine + (rest == 1 ? "" : "\n")
        }
        return Self.top + shown + Self.restOfScreen
    }

    private static let top = "\u{1b}[H"
    private static let restOfLine = "\u{1b}[K"
    private static let restOfScreen = "\u{1b}[J"
}

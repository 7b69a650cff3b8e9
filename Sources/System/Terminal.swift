import Glibc

/// Output for the person who typed the command.
package enum Terminal {
    package static func say(_ text: String) {
        put(text + "\n", to: 1)
    }

    package static func complain(_ text: String) {
        put(text + "\n", to: 2)
    }

    /// Writes the bytes, with control characters escaped where a terminal would obey them. Returns
    /// false once the reader has closed the pipe.
    @discardableResult
    package static func say(bytes: [UInt8]) -> Bool {
        isatty(1) == 1
            ? put(
                Array(TerminalText.lines(String(decoding: bytes, as: UTF8.self)).utf8)[...],
                to: 1
            )
            : put(bytes[...], to: 1)
    }

    /// Writes a screen, whose maker has escaped what it shows.
    @discardableResult
    package static func draw(_ screen: String) -> Bool { put(Array(screen.utf8)[...], to: 1) }

    private static func put(_ text: String, to descriptor: CInt) {
        put(Array(TerminalText.lines(text).utf8)[...], to: descriptor)
    }

    @discardableResult
    private static func put(_ content: ArraySlice<UInt8>, to descriptor: CInt) -> Bool {
        var bytes = content
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            // A closed pipe has no reader left.
            guard written > 0 else { return false }
            bytes = bytes.dropFirst(written)
        }
        return true
    }
}

/// Exit codes of the commands.
package enum ExitCode {
    package static let fine: CInt = 0
    package static let failed: CInt = 1
    /// Wrong usage or configuration.
    package static let wrong: CInt = 2
}

/// Why the gateway cannot start, in one line with the remedy.
package struct StartProblem: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

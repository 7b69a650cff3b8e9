import Foundation
import Glibc
import TestSupport
import Testing

@testable import System

@Suite(.timeLimit(.minutes(10))) struct ShellWordTests {
    /// Text that means something to a shell, to a terminal or to readers.
    private static let pieces = [
        "a", "é", "中", " ", "'", "\"", "\\", "$HOME", "`id`", "!x", "%s", "%", "-n", "*", "~", "#",
        "&", ";", "|", "(", ")",
        "\u{1}", "\t", "\n", "\r", "\u{15}", "\u{1b}[201~", "\u{1b}]0;x\u{7}", "\u{7f}", "\u{85}",
        "\u{9b}", "\u{202e}",
        "\u{2066}", "\u{200f}", "\u{61c}", "\u{feff}", "\u{2028}", "\\033", "$(id)", "\u{1b}",
        // A shell takes the quote for itself, whatever is put upon it.
        "\u{301}", "\u{200d}", "\u{200c}", "\u{fe0f}", "\u{20dd}", "\u{1f3fb}",
        "'\u{301};touch x;'\u{301}",
    ]

    private static func texts(_ count: Int, seed: UInt64) -> [String] {
        var dice = SeededRandom(seed: seed)
        return pieces
            + (0..<count).map { _ in
                (0..<Int.random(in: 0...8, using: &dice))
                    .map { _ in pieces.randomElement(using: &dice) ?? "" }.joined()
            }
    }

    private func expectInert(_ line: String, but allowed: String = "") {
        let unsafe = line.unicodeScalars.filter {
            ($0.value < 0x20 || (0x7f...0x9f).contains($0.value) || $0.properties.isBidiControl)
                && !allowed.unicodeScalars.contains($0)
        }
        #expect(unsafe.isEmpty, "\(line.debugDescription)")
    }

    @Test("A shell gives back each word, and each printed text", arguments: ["sh", "bash", "dash"])
    func shells(shell: String) throws {
        let directory = TemporaryDirectory()
        let texts = Self.texts(1000, seed: 1)
        let words = texts.compactMap { text in ShellWord.quoted(text).map { (text, $0) } }
        #expect(words.count > texts.count / 2)
        let printed = texts.map { ($0, ShellWord.printing($0)) }
        for line in (words + printed).map(\.1) { expectInert(line) }
        let script =
            words.map { "printf '%s\\0' \($0.1)\n" }.joined()
            + printed.map { "\($0.1); printf '\\0'\n" }.joined()
        let path = "\(directory.path)/script"
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        let child = try ChildProcess([shell, path], output: .pipe)
        var output: [UInt8] = []
        while let piece = child.output?.read(), !piece.isEmpty { output += piece }
        #expect(child.wait() == 0)
        let got = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
        let wanted = (words + printed).map(\.0)
        try #require(got.count == wanted.count)
        for (one, other) in zip(got, wanted) {
            #expect(one.utf8.elementsEqual(other.utf8), "\(other.debugDescription)")
        }
    }

    @Test("What no word can hold is refused, and printed byte by byte")
    func noWord() {
        #expect(ShellWord.quoted("a\n") == nil && ShellWord.quoted("a\0b") == nil)
        #expect(ShellWord.quoted("") == "''" && ShellWord.quoted("a-b/c.d") == "a-b/c.d")
        #expect(ShellWord.printing("a\0\n") == #"printf 'a\000\012'"#)
        #expect(ShellWord.printing("-n") == #"printf '\055n'"#)
    }

    @Test("A line that is pasted into an interactive bash does nothing else")
    func pasted() throws {
        let directory = TemporaryDirectory()
        let terminal = try PseudoTerminal()
        let bash = try ChildProcess(
            ["setsid", "--ctty", "bash", "--norc", "--noprofile", "-i"],
            environment: [
                "PATH": "/usr/bin:/bin", "HISTFILE": "/dev/null", "PS1": "READY>", "TERM": "xterm",
                "LC_ALL": "C.UTF-8",
            ],
            in: directory.path,
            input: .descriptor(terminal.slave),
            output: .descriptor(terminal.slave),
            errors: .descriptor(terminal.slave)
        )
        terminal.closeSlave()
        #expect(eventually { terminal.seen.contains("READY>") })
        let attack = "\u{1b}[201~\u{15}touch stolen\n"
        for (number, text) in ([attack, "\u{9b}201~\u{3}touch stolen\r"] + Self.texts(20, seed: 2))
            .enumerated()
        {
            let line = "\(ShellWord.printing(text)) > \(number); touch \(number).done"
            expectInert(line)
            // As terminals paste.
            terminal.type("\u{1b}[200~\(line)\u{1b}[201~\r")
            let file = "\(directory.path)/\(number)"
            try #require(
                eventually { FileManager.default.fileExists(atPath: "\(file).done") },
                "\(text.debugDescription): \(terminal.seen.suffix(500))"
            )
            #expect(
                try Data(contentsOf: URL(filePath: file)) == Data(text.utf8),
                "\(text.debugDescription)"
            )
        }
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/stolen"))
        terminal.type("exit\r")
        bash.wait()
    }

    @Test("Text for a terminal has no control character, in any of its forms")
    func terminalText() {
        for text in Self.texts(1000, seed: 3) {
            expectInert(TerminalText.shown(text))
            expectInert(TerminalText.sentence(text))
            expectInert(TerminalText.line(text))
            expectInert(printable(text))
            expectInert(jsonQuoted(text))
            expectInert(TerminalText.lines(text), but: "\n\t")
        }
        #expect(TerminalText.lines("a\n\tb \u{1b}[0m") == "a\n\tb \\u{1b}[0m")
    }

    @Test("A journal on a terminal moves nothing on it", arguments: [Journal.Format.text, .json])
    func journal(format: Journal.Format) throws {
        let terminal = try PseudoTerminal()
        let journal = Journal(level: .info, format: format, descriptor: terminal.slave)
        for text in Self.texts(100, seed: 4) { journal.info("event \(text)", ["field": text]) }
        journal.info("the end", ["field": ""])
        journal.flush(within: .seconds(20))
        #expect(eventually { terminal.seen.contains("the end") })
        expectInert(terminal.seen, but: "\r\n")
    }
}

/// A terminal whose other end this process reads and types on.
private final class PseudoTerminal: @unchecked Sendable {
    // The descriptors are set once, and the lock guards the text.
    private let master: CInt
    private(set) var slave: CInt
    private let lock = NSLock()
    private var bytes: [UInt8] = []

    init() throws(SystemError) {
        let master = try system("open") { open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) }
        self.master = master
        // TIOCSPTLCK and TIOCGPTN: unlocks the other end, and gives its number.
        var (lock, number): (CInt, CUnsignedInt) = (0, 0)
        _ = try system("ioctl") { ioctl(master, 0x4004_5431, &lock) }
        _ = try system("ioctl") { ioctl(master, 0x8004_5430, &number) }
        slave = try system("open") { open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC) }
        let keep: @Sendable ([UInt8]) -> Void = { [weak self] in self?.keep($0) }
        Thread.detachNewThread {
            var piece = [UInt8](repeating: 0, count: 4096)
            // It ends when the last slave is closed.
            while case let count = read(master, &piece, piece.count), count > 0 {
                keep(Array(piece[..<count]))
            }
            close(master)
        }
    }

    deinit { closeSlave() }

    private func keep(_ piece: [UInt8]) { lock.withLock { bytes += piece } }

    var seen: String { lock.withLock { String(decoding: bytes, as: UTF8.self) } }

    func closeSlave() {
        if slave >= 0 { close(slave) }
        slave = -1
    }

    func type(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

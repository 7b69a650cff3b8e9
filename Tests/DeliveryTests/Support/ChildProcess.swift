import Glibc
import System

/// A program that a test runs, with pipes to its standard input and output.
final class ChildProcess {
    private let id: pid_t
    private let input: OwnedDescriptor
    private let output: OwnedDescriptor

    init(_ arguments: [String]) throws {
        var toChild: [CInt] = [0, 0]
        var fromChild: [CInt] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else {
            throw SystemError(call: "pipe", code: errno)
        }
        // Children of tests that run at the same time must not hold these ends open.
        for end in toChild + fromChild { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        input = OwnedDescriptor(taking: toChild[1])
        output = OwnedDescriptor(taking: fromChild[0])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, arguments[0], &actions, nil, &words, environ)
        close(toChild[0])
        close(fromChild[1])
        guard code == 0 else { throw SystemError(call: "posix_spawnp", code: code) }
        self.id = id
    }

    /// Reads until the text has come, and gives everything up to then; nil when the output ends first.
    func read(until text: String) -> String? {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(output.number, &piece, piece.count)
            guard count > 0 else { return nil }
            all += piece[..<count]
            let read = String(decoding: all, as: UTF8.self)
            if read.contains(text) { return read }
        }
    }

    func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(input.number, $0.baseAddress, $0.count) }
    }

    /// Waits for its end and gives its exit status.
    @discardableResult
    func wait() -> CInt {
        var status: CInt = 0
        waitpid(id, &status, 0)
        return status
    }

    func stop() {
        kill(id, SIGKILL)
        wait()
    }
}

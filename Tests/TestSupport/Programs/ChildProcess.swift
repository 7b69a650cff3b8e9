package import Glibc
package import System

/// A program that a test runs; it is ended with this value, so none outlives its test.
package final class ChildProcess {
    /// What it has as standard input, output or errors. Whoever asks for a pipe reads it, or the
    /// program waits once it is full.
    package enum Stream {
        case nothing
        case pipe
        case descriptor(CInt)
    }

    package let id: pid_t
    /// Our ends of what was asked to be a pipe.
    package let input, output, errors: PipeEnd?
    private var result: CInt?

    /// Without an environment it has ours.
    package init(
        _ words: [String],
        environment: [String: String]? = nil,
        in directory: String? = nil,
        input: Stream = .nothing,
        output: Stream = .nothing,
        errors: Stream = .nothing
    ) throws(SystemError) {
        var actions = try SpawnActions()
        self.input = try actions.set(0, to: input)
        self.output = try actions.set(1, to: output)
        self.errors = try actions.set(2, to: errors)
        try actions.closeOthers()
        if let directory { try actions.begin(in: directory) }
        id = try actions.spawn(words, environment?.map { "\($0)=\($1)" })
    }

    deinit { stop() }

    package func signal(_ number: CInt) {
        if result == nil { kill(id, number) }
    }

    /// Waits for its end: the exit code, or the signal as a negative number.
    @discardableResult
    package func wait() -> CInt {
        if let result { return result }
        var status: CInt = 0
        let ended = try? system("waitpid") { waitpid(id, &status, 0) }
        // Nobody else waits for it, and SIGCHLD is not ignored: a result that is made up would hide
        // a crash.
        precondition(ended == id, "the kernel gave the end of \(id) to somebody else")
        let signal = status & 0x7f
        let code = signal == 0 ? status >> 8 & 0xff : -signal
        result = code
        return code
    }

    package func stop() {
        signal(SIGKILL)
        wait()
    }
}

package import Glibc
package import System

/// A program that a test runs; it is ended with this value, so none outlives its test.
package final class ChildProcess {
    /// What it has as standard input, output or errors.
    package enum Stream {
        case nothing
        case pipe
        case descriptor(CInt)
    }

    package let id: pid_t
    /// Our ends of what was asked to be a pipe.
    package let input, output, errors: PipeEnd?
    private var status: CInt?

    /// Without an environment it has ours. Its directory is changed by `env`, which becomes the program.
    package init(
        _ words: [String],
        environment: [String: String]? = nil,
        in directory: String? = nil,
        input: Stream = .nothing,
        output: Stream = .pipe,
        errors: Stream = .nothing
    ) throws(SystemError) {
        var streams = try SpawnedStreams()
        self.input = try streams.set(0, to: input)
        self.output = try streams.set(1, to: output)
        self.errors = try streams.set(2, to: errors)
        let words = (directory.map { ["/usr/bin/env", "-C", $0] } ?? []) + words
        var arguments = words.map { strdup($0) } + [nil]
        defer { for word in arguments { free(word) } }
        var variables = environment.map { $0.map { strdup("\($0)=\($1)") } + [nil] }
        defer { for variable in variables ?? [] { free(variable) } }
        var attributes = Self.signalsAsInAShell()
        defer { posix_spawnattr_destroy(&attributes) }
        var id: pid_t = 0
        let code =
            variables == nil
            ? posix_spawnp(&id, words[0], &streams.actions, &attributes, &arguments, environ)
            : posix_spawnp(&id, words[0], &streams.actions, &attributes, &arguments, &variables!)
        guard code == 0 else { throw SystemError(call: "posix_spawnp", code: code) }
        self.id = id
    }

    deinit { stop() }

    package func signal(_ number: CInt) {
        if status == nil { kill(id, number) }
    }

    /// Waits for its end: the exit code, or the signal as a negative number.
    @discardableResult
    package func wait() -> CInt {
        if let status { return status }
        var word: CInt = 0
        while waitpid(id, &word, 0) < 0, errno == EINTR {}
        let signal = word & 0x7f
        let ended = signal == 0 ? word >> 8 & 0xff : -signal
        status = ended
        return ended
    }

    package func stop() {
        signal(SIGKILL)
        wait()
    }

    /// A thread of the tests may block signals, and the tests ignore some; a child would inherit both.
    private static func signalsAsInAShell() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        var signals = sigset_t()
        posix_spawnattr_init(&attributes)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, CShort(flags))
        return attributes
    }
}

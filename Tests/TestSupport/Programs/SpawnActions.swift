import CPrograms
import Glibc
import System

/// How a program is started. Its ends of pipes are closed with this value, once it has them.
struct SpawnActions: ~Copyable {
    private var actions = posix_spawn_file_actions_t()
    private var itsEnds: [CInt] = []

    init() throws(SystemError) {
        try check("init", posix_spawn_file_actions_init(&actions))
    }

    deinit {
        var actions = actions
        posix_spawn_file_actions_destroy(&actions)
        for end in itsEnds { close(end) }
    }

    /// Gives our end when it is a pipe.
    mutating func set(
        _ number: CInt,
        to stream: ChildProcess.Stream
    ) throws(SystemError) -> PipeEnd? {
        switch stream {
        case .nothing:
            let code = posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            try check("addopen", code)
            return nil
        case .descriptor(let given):
            try check("adddup2", posix_spawn_file_actions_adddup2(&actions, given, number))
            return nil
        case .pipe:
            var ends: [CInt] = [0, 0]
            _ = try system("pipe2") { programs_pipe(&ends) }
            let (its, ours) = number == 0 ? (ends[0], ends[1]) : (ends[1], ends[0])
            itsEnds.append(its)
            let end = PipeEnd(taking: ours)
            try check("adddup2", posix_spawn_file_actions_adddup2(&actions, its, number))
            return end
        }
    }

    mutating func closeOthers() throws(SystemError) {
        try check("addclosefrom_np", programs_close_others(&actions))
    }

    mutating func begin(in directory: String) throws(SystemError) {
        try check("addchdir_np", programs_begin_in(&actions, directory))
    }

    /// Without variables it has our environment.
    consuming func spawn(_ words: [String], _ variables: [String]?) throws(SystemError) -> pid_t {
        var arguments = words.map { strdup($0) } + [nil]
        var variables = variables.map { $0.map { strdup($0) } + [nil] } ?? []
        defer { for text in arguments + variables { free(text) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        Self.setSignalsAsInAShell(&attributes)
        var id: pid_t = 0
        let code =
            variables.isEmpty
            ? posix_spawnp(&id, words[0], &actions, &attributes, &arguments, environ)
            : posix_spawnp(&id, words[0], &actions, &attributes, &arguments, &variables)
        try check("posix_spawnp", code)
        return id
    }

    /// Threads of the tests block signals, and a script that runs them in the background has some
    /// ignored: a program would inherit both.
    private static func setSignalsAsInAShell(_ attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, CShort(flags))
    }
}

/// These calls give their reason, and do not leave it in errno.
private func check(_ call: String, _ code: CInt) throws(SystemError) {
    guard code == 0 else { throw SystemError(call: call, code: code) }
}

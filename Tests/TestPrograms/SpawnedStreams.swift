import Glibc
import System

/// The three streams that a program is started with; its ends of pipes are closed here once it has them.
struct SpawnedStreams: ~Copyable {
    var actions = posix_spawn_file_actions_t()
    private var itsEnds: [CInt] = []

    /// A program that another test starts must not hold these ends open, so they are marked from the
    /// beginning; the headers as Swift sees them do not have this call.
    private static let pipe2 = unsafeBitCast(
        dlsym(nil, "pipe2"),
        to: (@convention(c) (UnsafeMutablePointer<CInt>, CInt) -> CInt).self
    )

    init() throws(SystemError) {
        let code = posix_spawn_file_actions_init(&actions)
        guard code == 0 else {
            throw SystemError(call: "posix_spawn_file_actions_init", code: code)
        }
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
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            return nil
        case .descriptor(let given):
            posix_spawn_file_actions_adddup2(&actions, given, number)
            return nil
        case .pipe:
            var ends: [CInt] = [0, 0]
            _ = try system("pipe2") { Self.pipe2(&ends, O_CLOEXEC) }
            let (its, ours) = number == 0 ? (ends[0], ends[1]) : (ends[1], ends[0])
            posix_spawn_file_actions_adddup2(&actions, its, number)
            itsEnds.append(its)
            return PipeEnd(taking: ours)
        }
    }
}

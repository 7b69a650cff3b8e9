import Glibc
import System
import Testing

/// `openssl s_server` with a certificate that nobody knows.
final class TLSStandIn {
    let port: Int
    private let directory: TemporaryDirectory
    private let process: pid_t

    init() throws {
        directory = try TemporaryDirectory()
        let key = "\(directory.path)/key"
        let certificate = "\(directory.path)/certificate"
        let maker = try Self.start([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ])
        close(maker.output)
        var status: CInt = 0
        waitpid(maker.process, &status, 0)
        try #require(status == 0, "openssl makes a certificate")
        let server = try Self.start([
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate,
            "-www",
        ])
        process = server.process
        var said = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        var port: Int?
        while port == nil {
            let count = read(server.output, &piece, piece.count)
            guard count > 0 else { break }
            said += String(decoding: piece[..<count], as: UTF8.self)
            guard let line = said.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }),
                said.hasSuffix("\n")
            else { continue }
            port = line.split(separator: ":").last.flatMap { Int($0) }
        }
        // It says nothing more that fills the pipe.
        close(server.output)
        self.port = try #require(port)
    }

    func stop() {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
        directory.remove()
    }

    private static func start(_ words: [String]) throws -> (process: pid_t, output: CInt) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw SystemError(call: "pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var arguments = words.map { strdup($0) } + [nil]
        defer { for word in arguments { free(word) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, words[0], &actions, nil, &arguments, environ)
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw SystemError(call: "posix_spawnp", code: code)
        }
        return (process, ends[0])
    }
}

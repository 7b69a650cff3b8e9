import Glibc
import System

/// Tests whether standard output is open and has a reader, without writing.
struct StdoutInspection {
    private let descriptor: CInt

    init(_ descriptor: CInt = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    func result(of destination: String) -> DestinationTest {
        func refused(_ error: SystemError) -> DestinationTest {
            DestinationTest(destination, at: "stdout", WriteProblem(error, "standard output"))
        }
        var facts = stat()
        do throws(SystemError) {
            _ = try system("fstat") { fstat(descriptor, &facts) }
        } catch {
            return refused(error)
        }
        let mode = fcntl(descriptor, F_GETFL) & O_ACCMODE
        guard mode != O_RDONLY else { return refused(SystemError(call: "write", code: EBADF)) }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let ready = poll(&entry, 1, 0)
        // A pipe whose reader has closed its end reports an error.
        if ready > 0, entry.revents & Int16(POLLERR | POLLHUP) != 0 {
            return refused(SystemError(call: "write", code: EPIPE))
        }
        guard ready > 0 else {
            let problem = WriteProblem(
                code: "STUCK",
                message: "standard output is open, but its reader is not reading",
                remedy:
                    "see why the reader of the gateway's standard output is slow; logs wait meanwhile"
            )
            return DestinationTest(destination, at: "stdout", problem, .undecided)
        }
        return DestinationTest(
            destination,
            at: "stdout",
            fine: "standard output is \(kind(facts)). Nothing was written"
        )
    }

    private func kind(_ facts: stat) -> String {
        switch facts.st_mode & S_IFMT {
        case S_IFIFO: "a pipe, and its reader is there"
        case S_IFSOCK: "a socket, and its reader is there"
        case S_IFREG: "a file of \(roughSize(Int(facts.st_size)))"
        case S_IFCHR:
            isatty(descriptor) == 1
                ? "a terminal"
                : isNull(facts) ? "/dev/null: logs are delivered nowhere" : "a device"
        default: "open"
        }
    }

    private func isNull(_ facts: stat) -> Bool {
        var null = stat()
        return stat("/dev/null", &null) == 0 && null.st_rdev == facts.st_rdev
    }
}

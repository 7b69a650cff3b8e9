import Glibc
package import System

/// A request of the operating system.
package enum Signal: Sendable, Equatable {
    /// SIGTERM or SIGINT.
    case stop
    /// SIGHUP.
    case reload
}

/// The one thread that receives signals; no other thread is interrupted.
package enum Signals {
    /// Blocks the signals for all threads but the one of `listen`. Called before the first thread
    /// starts.
    package static func prepare() {
        // A closed connection is an error of the write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        var set = Self.awaited
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Starts listening. The second request to stop ends the process at once.
    package static func listen(_ receive: @escaping @Sendable (Signal) -> Void) throws(SystemError)
    {
        // The thread runs until the process ends, so it is never joined.
        _ = try Worker("signals") {
            var set = Self.awaited
            var isStopping = false
            while true {
                var number: CInt = 0
                guard sigwait(&set, &number) == 0 else { continue }
                switch number {
                case SIGHUP: receive(.reload)
                case SIGTERM, SIGINT:
                    if isStopping { _exit(1) }
                    isStopping = true
                    receive(.stop)
                default: break
                }
            }
        }
    }

    private static var awaited: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
        return set
    }
}

import CSystem
package import Configuration
import Crypto
import Glibc
import Net
package import System

/// `sluice serve`: from reading the configuration to the end of the process.
package struct Service: Sendable {

    private let inputs: ConfigurationInputs

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
    }

    /// Runs until a signal stops it, and returns the exit code.
    package func run() -> CInt {
        Signals.prepare()
        // Keys are in memory from here on.
        let areDumpsForbidden = CoreDumps.forbid()
        // Our threads pass buffers to each other. With an arena for each thread, memory that one
        // freed would lie idle while another allocates. An arena keeps what a packet's buffers
        // need, a MiB or two: memory that goes back to the kernel when they are freed costs page
        // faults with the next packet.
        sluice_set_allocator(4, 4 << 20)
        let reader = ConfigurationReader(inputs)
        let configuration: GatewayConfiguration
        do throws(ConfigurationProblems) {
            configuration = try reader.read([:], rereadsFile: true)
        } catch {
            Terminal.complain(error.description)
            return ExitCode.wrong
        }
        let passed: PassedListeners
        do throws(StartProblem) {
            passed = try PassedListeners(inputs.environment)
            try passed.check(against: configuration.listeners)
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.wrong
        }
        let journal = Journal(level: configuration.log.level, format: configuration.log.format)
        defer { journal.flush() }
        if !areDumpsForbidden {
            journal.warning("cannot disable core dumps; a core dump would contain keys")
        }
        SecretMemory.shared.onLockFailure { error in
            journal.warning(
                "secrets are not locked in memory and may be written to swap",
                [
                    "reason": error,
                    "remedy":
                        "raise RLIMIT_MEMLOCK (systemd: LimitMEMLOCK=64M; Docker: --ulimit memlock=67108864)",
                ]
            )
        }
        do {
            try serve(configuration, rereadBy: reader, on: passed, journal)
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.failed
        }
    }

    private func serve(
        _ configuration: GatewayConfiguration,
        rereadBy reader: ConfigurationReader,
        on passed: PassedListeners,
        _ journal: Journal
    ) throws {
        let inbox: Mailbox<Signal>
        let wakeUp: WakeUp
        do throws(SystemError) {
            let wake = try WakeUp()
            wakeUp = wake
            inbox = Mailbox { wake.signal() }
            try Signals.listen { [inbox] signal in inbox.post(signal) }
        } catch {
            throw StartProblem("cannot handle signals: \(error)")
        }
        let partner = inputs.isSandboxed ? try SandboxPartner(journal) : nil
        let described = partner?.redirected(configuration) ?? configuration
        var isReloadOwed = false
        let queue = try QueueOpening(described, passed, journal).open { pause in
            wakeUp.wait(timeout: pause)
            let signals = inbox.takeAll()
            isReloadOwed = isReloadOwed || signals.contains(.reload)
            return !signals.contains(.stop)
        }
        guard let queue else {
            partner?.stop()
            return journal.info("stopped before the queue was open")
        }
        let gateway = try Gateway(described, on: queue, passed: passed, journal: journal) {
            decided,
            rereadsFile throws(ConfigurationProblems) in
            let new = try reader.read(decided, rereadsFile: rereadsFile)
            return partner?.redirected(new) ?? new
        }
        announce(gateway, journal)
        if let partner { introduce(partner, gateway, journal) }
        if isReloadOwed { gateway.reread() }
        waitForStop(gateway, inbox, wakeUp)
        let patience = gateway.configuration.withLock(\.drainTimeout)
        journal.info(
            "stopping; a second signal stops at once",
            ["seconds": patience.components.seconds]
        )
        gateway.stop(within: patience)
        partner?.stop()
    }

    /// Reloads as often as a signal asks for it, and keeps the service manager informed.
    private func waitForStop(_ gateway: Gateway, _ inbox: Mailbox<Signal>, _ wakeUp: WakeUp) {
        let manager = ServiceManager(inputs.environment)
        if !manager.tell(.ready, .status("devices: \(gateway.deviceAddress)")) {
            gateway.journal.warning(
                "the service manager cannot be told that the gateway is ready",
                ["remedy": "NOTIFY_SOCKET must name a socket that this user may write"]
            )
        }
        // A reload that ends during the stop must not tell that the gateway is ready.
        let isStopping = Locked(false)
        defer {
            isStopping.withLock { $0 = true }
            manager.tell(.stopping)
        }
        let watchdog = Watchdog(manager, gateway.journal)
        while true {
            watchdog.look(at: gateway.watched)
            wakeUp.wait(timeout: watchdog.pause)
            let signals = inbox.takeAll()
            if signals.contains(.stop) { return }
            // One reload follows all signals before it.
            guard signals.contains(.reload) else { continue }
            manager.tell(.reloading)
            gateway.reread { if !isStopping.withLock({ $0 }) { manager.tell(.ready) } }
        }
    }

    private func announce(_ gateway: Gateway, _ journal: Journal) {
        if let address = gateway.secureDeviceAddress {
            journal.info("TLS listener is ready", [DeviceTLS.listener: address.description])
        }
        journal.info(
            "sluice is ready",
            [
                "version": Version.current, "devices": gateway.deviceAddress.description,
                "admin": gateway.adminAddress.description,
                "data_dir": gateway.configuration.withLock(\.dataDirectory),
            ]
        )
        if let path = gateway.tokenFile {
            journal.info("the admin token is stored in a file", ["path": path])
        }
    }

    /// Shows the sandbox's addresses, and leaves a second key for a first rotation.
    private func introduce(_ partner: SandboxPartner, _ gateway: Gateway, _ journal: Journal) {
        let directory = gateway.configuration.withLock(\.dataDirectory)
        var hasIssuedKey = false
        do throws(SystemError) {
            try partner.issueKey(into: directory)
            hasIssuedKey = true
        } catch {
            journal.warning(
                "cannot write the sandbox's second key; sluice rotate has no key to try",
                [
                    "path": SandboxPartner.issuedFile(in: directory),
                    "reason": error.description, "remedy": "make data_dir writable",
                ]
            )
        }
        Terminal.say(partner.welcome(gateway, hasIssuedKey: hasIssuedKey))
    }
}

extension GatewayConfiguration {
    fileprivate var listeners: [(key: String, address: ListenAddress)] {
        [("listen", listen), ("admin.listen", admin.listen)]
            + (tls.map { [("tls.listen", $0.listen)] } ?? [])
    }
}

/// A request of the operating system.
package enum Signal: Sendable, Equatable {
    /// SIGTERM or SIGINT.
    case stop
    /// SIGHUP.
    case reload
}

/// The one thread that receives signals; no other thread is interrupted.
package enum Signals {
    /// Blocks the signals for all threads but that of `listen`; called before the first one starts.
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

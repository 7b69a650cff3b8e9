import Net
import System

/// A server to connect to, and the name that its certificate must have.
struct ServerTarget: Hashable, Sendable {
    let address: NATSServerAddress
    /// The name by which a server of the same cluster was configured: others tell numeric addresses only.
    let certificateHost: String
}

/// One connection to a server, from its greeting to its end. Only the client's thread uses it.
final class ServerConnection {
    private static let readBytesMax = 4 << 20

    private var socket: OutboundSocket
    private let wake: WakeUp
    private var parser = NATSParser()
    private var output: [[UInt8]] = []
    /// How much of the first one is sent.
    private var sentBytes = 0
    private(set) var info: ServerInfo
    private(set) var isSecure = false
    /// When something was last received. What is sent goes to the kernel, and tells nothing about the server.
    private(set) var lastReceived = Moment.now
    private(set) var pingedAt: Moment?

    /// Connects and reads the server's description.
    private init(
        at address: SocketAddress,
        _ wake: WakeUp,
        until mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        self.wake = wake
        do throws(SystemError) {
            socket = try OutboundSocket(to: address)
        } catch {
            throw NATSError(.disconnected, "\(error)")
        }
        // Replaced below: nothing may throw before all is set.
        info = .unknown
        try wait(.write, mayGoOn)
        do throws(SystemError) {
            try socket.checkConnected()
        } catch {
            throw NATSError(.disconnected, "\(error)")
        }
        guard case .info(let text) = try operation(mayGoOn) else {
            throw NATSError(.malformed, "the server does not begin with INFO; is it a NATS server?")
        }
        info = try ServerInfo(text)
    }

    /// Connects, checks the server and logs in. Asks `mayGoOn` for the time that is left, before each wait.
    static func open(
        _ target: ServerTarget,
        at address: SocketAddress,
        _ settings: NATSSettings,
        subscribingTo inbox: String,
        _ wake: WakeUp,
        until mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) -> ServerConnection {
        let connection = try ServerConnection(at: address, wake, until: mayGoOn)
        try connection.check(settings)
        try connection.secure(target, settings, mayGoOn)
        try connection.logIn(settings, inbox, mayGoOn)
        return connection
    }

    private func check(_ settings: NATSSettings) throws(NATSError) {
        if let minimum = settings.minimumVersion {
            guard let version = ServerVersion(info.version) else {
                throw NATSError(.refused, "the server's version \(info.version) cannot be read")
            }
            guard version >= minimum else {
                throw NATSError(
                    .refused,
                    "the server has version \(info.version); update it to \(minimum) or newer"
                )
            }
        }
        guard info.hasHeaders else {
            throw NATSError(.refused, "the server has no headers; set no_header_support to false")
        }
    }

    private func secure(
        _ target: ServerTarget,
        _ settings: NATSSettings,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        let isWanted = settings.tls != nil || target.address.wantsTLS
        guard isWanted || info.demandsTLS else { return }
        // Whoever is on the wire could have written the description, but no proof of ours has been sent yet.
        guard info.demandsTLS || info.offersTLS else {
            throw NATSError(.refused, "the server has no TLS; configure its tls block")
        }
        guard parser.isEmpty else {
            throw NATSError(.malformed, "the server sent more than INFO before TLS")
        }
        do throws(TLSError) {
            try socket.secure(settings.tls ?? OutboundTLS(), host: target.certificateHost)
        } catch {
            throw NATSError(.refused, "\(error)")
        }
        while true {
            let progress: HandshakeProgress
            do throws(HandshakeError) {
                progress = try socket.handshake()
            } catch {
                throw NATSError(
                    error.kind == .closed ? .disconnected : .refused,
                    "TLS with \(target.certificateHost): \(error.reason)"
                )
            }
            switch progress {
            case .done:
                isSecure = true
                return
            case .wantsToRead: try wait(.read, mayGoOn)
            case .wantsToWrite: try wait(.write, mayGoOn)
            }
        }
    }

    private func logIn(
        _ settings: NATSSettings,
        _ inbox: String,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        send(try Login(settings: settings).line(to: info, isSecure: isSecure))
        send(Array("SUB \(inbox).> 1\r\nPING\r\n".utf8))
        while true {
            while try !write() { try wait(.write, mayGoOn) }
            switch try operation(mayGoOn) {
            case .pong: return
            case .error(let text):
                throw NATSError(.refused, "the server refused the login: \(text)")
            case .info(let text): info = try ServerInfo(text)
            case .ping: send(Array("PONG\r\n".utf8))
            case .ok, .message: break
            }
        }
    }

    // MARK: - Operations

    func send(_ bytes: [UInt8]) { output.append(bytes) }

    func ping() {
        guard pingedAt == nil else { return }
        pingedAt = .now
        send(Array("PING\r\n".utf8))
    }

    var hasOutput: Bool { !output.isEmpty }

    /// Sends as much as the socket takes. True if nothing is left.
    func write() throws(NATSError) -> Bool {
        var done = 0
        defer { output.removeFirst(done) }
        while done < output.count {
            let outcome: Outcome
            do throws(SystemError) {
                outcome = try output[done].withUnsafeBytes { bytes in
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[sentBytes...])
                    return Result { () throws(SystemError) in try socket.send(rest) }
                }.get()
            } catch {
                throw NATSError(.disconnected, "\(error)")
            }
            guard case .done(let count) = outcome else { return false }
            sentBytes += count
            if sentBytes == output[done].count {
                sentBytes = 0
                done += 1
            }
        }
        return true
    }

    /// The operations that have arrived. Reads at most a few MiB at a time.
    func read() throws(NATSError) -> [NATSParser.Operation] {
        var operations: [NATSParser.Operation] = []
        var bytes = 0
        while bytes < Self.readBytesMax {
            let count = try receive()
            guard count > 0 else { break }
            bytes += count
            while let operation = try parser.next() {
                switch operation {
                case .pong: pingedAt = nil
                case .ping: send(Array("PONG\r\n".utf8))
                case .info(let text): info = try ServerInfo(text)
                default: break
                }
                operations.append(operation)
            }
        }
        return operations
    }

    /// Sleeps until there is something to read, room to write if there is output, or the client's thread is woken.
    func sleep(atMost time: Duration) throws(NATSError) {
        do throws(SystemError) {
            _ = try socket.wait(for: hasOutput ? .readOrWrite : .read, or: wake, timeout: time)
        } catch {
            throw NATSError(.disconnected, "\(error)")
        }
    }

    // MARK: - Waiting

    private func wait(
        _ wish: OutboundSocket.Wish,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        while true {
            let left = try mayGoOn()
            do throws(SystemError) {
                if try socket.wait(for: wish, or: wake, timeout: left) { return }
            } catch {
                throw NATSError(.disconnected, "\(error)")
            }
            // Woken, or at the deadline; `mayGoOn` tells.
            wake.clear()
        }
    }

    private func operation(
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) -> NATSParser.Operation {
        while true {
            if let operation = try parser.next() { return operation }
            if try receive() == 0 { try wait(.read, mayGoOn) }
        }
    }

    /// 0: nothing is there at this moment.
    private func receive() throws(NATSError) -> Int {
        var count = 0
        var isOver = false
        do throws(SystemError) {
            try parser.append { room throws(SystemError) in
                let outcome = try socket.receive(into: room)
                switch outcome {
                case .done(let bytes):
                    count = bytes
                    isOver = bytes == 0
                case .wouldBlock: break
                }
                return count
            }
        } catch {
            throw NATSError(.disconnected, "\(error)")
        }
        guard !isOver else { throw NATSError(.disconnected, "the server ended the connection") }
        if count > 0 { lastReceived = .now }
        return count
    }
}

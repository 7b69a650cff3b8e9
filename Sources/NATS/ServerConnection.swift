import Net
import System

/// A server to connect to, and the name that its certificate must have.
struct ServerTarget: Hashable, Sendable {
    let address: NATSServerAddress
    /// The configured name of a server of the cluster: others tell numeric addresses only.
    let certificateHost: String
}

/// One connection to a server, from its greeting to its end. Only the client's thread uses it.
final class ServerConnection {
    private static let readBytesMax = 4 << 20

    private var socket: OutboundSocket
    private let wake: WakeUp
    private var parser = NATSParser()
    private var output = OutputQueue()
    private(set) var info: ServerInfo
    /// Other servers of the cluster, as this one names them. With TLS only those that it names
    /// inside of it: anyone on the wire can write the greeting.
    private(set) var others: [NATSServerAddress] = []
    private(set) var isSecure = false
    private var isLoggedIn = false
    /// When the server last showed that it is there.
    private(set) var lastProgress = Moment.now
    private var pingedAt: Moment?
    private var owesPong = false
    /// The socket took less than there was to send.
    private var isBlocked = false

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
            throw .disconnected("\(error)")
        }
        // Replaced below: nothing may throw before all is set.
        info = .unknown
        try wait(.write, mayGoOn)
        try NATSError.onSystem { () throws(SystemError) in try socket.checkConnected() }
        guard case .info(let text) = try operation(mayGoOn) else {
            throw .malformed("the server does not begin with INFO; is it a NATS server?")
        }
        try take(text)
    }

    private func take(_ text: [UInt8]) throws(NATSError) {
        info = try ServerInfo(text)
        others = info.others
    }

    /// Connects, checks the server and logs in. `mayGoOn` tells the time left for a wait.
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
                throw .refused("the server's version \(info.version) cannot be read")
            }
            guard version >= minimum else {
                throw .refused(
                    "the server has version \(info.version); update it to \(minimum) or newer"
                )
            }
        }
        guard info.hasHeaders else {
            throw .refused("the server has no headers; set no_header_support to false")
        }
    }

    private func secure(
        _ target: ServerTarget,
        _ settings: NATSSettings,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        let isWanted = settings.tls != nil || target.address.wantsTLS
        guard isWanted || info.demandsTLS else { return }
        // An attacker could have written the description, but no secret was sent yet.
        guard info.demandsTLS || info.offersTLS else {
            throw .refused("the server has no TLS; configure its tls block")
        }
        guard parser.isEmpty else {
            throw .malformed("the server sent more than INFO before TLS")
        }
        do throws(TLSError) {
            try socket.secure(settings.tls ?? OutboundTLS(), host: target.certificateHost)
        } catch {
            throw .refused("\(error)")
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
                others = []
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
        let login = try Login(settings: settings).line(to: info, isSecure: isSecure)
        // In one piece: a server that refuses the login closes, and may lose its answer with more.
        send(login + Array("SUB \(inbox).> 1\r\nPING\r\n".utf8))
        while true {
            while try !write() { try wait(.write, mayGoOn) }
            switch try operation(mayGoOn) {
            case .pong:
                isLoggedIn = true
                return
            case .error(let text):
                throw .refused("the server refused the login: \(text)")
            case .info(let text): try take(text)
            case .ping: owesPong = true
            case .ok, .message: break
            }
        }
    }

    // MARK: - Operations

    /// Nothing else waits to be sent.
    func send(_ queue: OutputQueue) {
        precondition(output.isEmpty, "what waits would be lost")
        output = queue
    }

    private func send(_ bytes: [UInt8]) { output.append(bytes) }

    /// Sends a ping, unless one is under way. Returns when it was sent.
    func ping() -> Moment {
        if let pingedAt { return pingedAt }
        let now = Moment.now
        pingedAt = now
        send(Array("PING\r\n".utf8))
        return now
    }

    var hasOutput: Bool { !output.isEmpty }

    /// Sends as much as the socket takes. True if nothing is left.
    func write() throws(NATSError) -> Bool {
        // One answer is enough for all pings that came while the output was stuck.
        if owesPong, output.isEmpty {
            owesPong = false
            send(Array("PONG\r\n".utf8))
        }
        while !output.isEmpty {
            let outcome = try NATSError.onSystem { () throws(SystemError) in
                try output.withFront { bytes in
                    Result { () throws(SystemError) in try socket.send(bytes) }
                }.get()
            }
            guard case .done(let count) = outcome else {
                isBlocked = true
                return false
            }
            // The server has made room. A socket with room takes bytes even for one that hangs.
            if isBlocked { lastProgress = .now }
            isBlocked = false
            output.remove(count)
        }
        return true
    }

    /// Lends the operations that have arrived. Reads a few MiB at most; true: there may be more.
    func read(
        _ use: (NATSParser.Operation) throws(NATSError) -> Void
    ) throws(NATSError) -> Bool {
        var bytes = 0
        while true {
            // Some may have come together with the login's answer.
            while let operation = try parser.next() {
                switch operation {
                case .pong: pingedAt = nil
                case .ping: owesPong = true
                case .info(let text): try take(text)
                default: break
                }
                try use(operation)
            }
            guard bytes < Self.readBytesMax else { return true }
            let count = try receive()
            guard count > 0 else { return false }
            bytes += count
        }
    }

    /// Sleeps until it can read, or write its output, or the client's thread is woken.
    func sleep(atMost time: Duration) throws(NATSError) {
        let wish: OutboundSocket.Wish = hasOutput ? .readOrWrite : .read
        _ = try NATSError.onSystem { () throws(SystemError) in
            try socket.wait(for: wish, or: wake, timeout: time)
        }
    }

    // MARK: - Waiting

    private func wait(
        _ wish: OutboundSocket.Wish,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) {
        while true {
            let left = try mayGoOn()
            let isReady = try NATSError.onSystem { () throws(SystemError) in
                try socket.wait(for: wish, or: wake, timeout: left)
            }
            if isReady { return }
            // Woken, or at the deadline; `mayGoOn` tells.
            wake.clear()
        }
    }

    private func operation(
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) -> NATSParser.Operation {
        while true {
            // A server that never pauses must not keep the client from stopping.
            _ = try mayGoOn()
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
            throw lost(error)
        }
        guard !isOver else { throw .disconnected("the server ended the connection") }
        if count > 0 { lastProgress = .now }
        return count
    }

    private func lost(_ error: SystemError) -> NATSError {
        guard let reason = socket.takeTLSReason() else {
            return .disconnected("\(error)")
        }
        // In TLS 1.3 a server judges the client's certificate after the handshake.
        let isVerdict = !isLoggedIn && reason.contains("alert")
        return NATSError(isVerdict ? .refused : .disconnected, "TLS: \(reason)")
    }
}

import Net
import System

/// One client's connection: its phase, pending input and pending output.
///
/// It belongs to its loop thread. The loop moves it from phase to phase; see `EventLoop`.
final class ClientConnection {
    enum Phase {
        /// Waits for the proxy's PROXY header.
        case proxyHeader
        /// The TLS handshake.
        case handshaking
        /// Between requests.
        case idle
        /// A head has begun.
        case head
        /// A body is being read, for the handler or to be dropped.
        case body
        /// The handler has the request. Further input stays in the kernel.
        case answering
        /// The answer's body is being streamed. Further input stays in the kernel.
        case streaming
        /// The last answer is being written.
        case finishing
        /// The last answer is written and FIN is sent. The client may still be sending: closing now
        /// would make the kernel reset the connection, and destroy the answer before it is read.
        case lingering
        case closed
    }

    let socket: Socket
    let token: PollToken
    private(set) var client: ClientIdentity
    /// The connection only gets an answer that refuses it. No limit counts it.
    let isRefused: Bool

    var phase: Phase
    var timer = ConnectionTimer()
    var readiness = SocketReadiness()
    var input = InputWindow()
    var request = PresentRequest()
    /// False: the connection ends after the present answer.
    var keepsAlive = true
    /// The body of the present answer, if it is streamed.
    var stream: StreamedBody?
    var unsent = UnsentOutput()
    var holdings = Holdings()
    var lingering = Lingering()
    /// The loop's list of unfinished work has this connection, so no event gives it another turn in
    /// the same round.
    var isUnfinished = false

    init(
        _ socket: consuming Socket,
        token: PollToken,
        client: ClientIdentity,
        awaitsProxyHeader: Bool,
        isRefused: Bool
    ) {
        phase = awaitsProxyHeader ? .proxyHeader : socket.isSecure ? .handshaking : .idle
        self.socket = socket
        self.token = token
        self.client = client
        self.isRefused = isRefused
    }

    /// Ends the first phase of a connection through a proxy.
    func applyProxyHeader(_ header: ProxyHeader, neighbourhood: Neighbourhood?) {
        phase = socket.isSecure ? .handshaking : .idle
        client.applyProxyHeader(header, neighbourhood: neighbourhood)
    }

    func applyCertificate(_ certificate: ClientCertificate) { client.applyCertificate(certificate) }

    /// A new connection with the same client certificate might be refused by now.
    var isStale: Bool { socket.isOutdated || client.isExpired }

    var hasOutput: Bool { !unsent.isEmpty }

    var isClosed: Bool {
        phase == .closed
    }

    var isHandshaking: Bool {
        phase == .handshaking
    }

    var awaitsProxyHeader: Bool {
        phase == .proxyHeader
    }

    var isIdle: Bool {
        phase == .idle
    }

    var isAnswering: Bool {
        phase == .answering
    }

    var isStreaming: Bool { stream != nil }

    /// True while the next request must wait.
    var isBusy: Bool { isAnswering || isStreaming }
}

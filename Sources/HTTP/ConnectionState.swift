import Net
import System

// The parts of a connection's state; `ClientConnection` holds one of each.

/// Who the other end is, as far as it is verified.
struct ClientIdentity {
    private(set) var peer: PeerAddress
    /// The network that limits count the connection and its memory for; nil for a proxy, which
    /// speaks for many clients.
    private(set) var neighbourhood: Neighbourhood?
    private var certificateExpires: WallTime?

    init(_ peer: PeerAddress, neighbourhood: Neighbourhood?) {
        self.peer = peer
        self.neighbourhood = neighbourhood
    }

    /// Takes the client's address from the PROXY header. A header without an address is the proxy's
    /// own, such as a health check, and its sender may not forward for others.
    mutating func applyProxyHeader(_ header: ProxyHeader, neighbourhood: Neighbourhood?) {
        self.neighbourhood = neighbourhood
        guard let client = header.client else { return peer.mayForward = false }
        peer = PeerAddress(client.address, port: client.port)
    }

    /// Takes the client's names from its certificate, until that expires.
    mutating func applyCertificate(_ certificate: ClientCertificate) {
        peer.clientNames = certificate.names
        certificateExpires = certificate.expires
    }

    var isExpired: Bool { certificateExpires.map { $0 < .now } ?? false }
}

/// What epoll has said about the socket. Edge-triggered: each flag stays true until a call would
/// block.
struct SocketReadiness {
    var mayRead = true
    var mayWrite = true
    /// FIN has come, possibly with bytes before it.
    var isFinished = false
    /// The client has begun its handshake.
    var hasFirstBytes = false
}

/// The request that is being read or answered.
struct PresentRequest {
    /// Reads the head; a fresh one waits for the next request.
    var scanner = HeadScanner()
    /// The head and what the handler's `admit` kept about it, until the handler has both.
    var head: RequestHead?
    var admitted: RequestHandler.Admitted?
    /// What the answer has to know of the request.
    var asked = ResponseWriter.Asked()
    var body: BodyReader?
    var bodyBegan = Moment(nanoseconds: 0)
    /// Set when the connection closes before its large request was answered.
    var abandonment: LargeRequest.Abandonment?
}

/// Answer bytes that the kernel has not accepted yet.
struct UnsentOutput {
    var bytes: [UInt8] = []
    /// Bytes at the front of `bytes` that the kernel has.
    var sentCount = 0
    /// How fast the client takes an answer that the kernel did not take at once.
    var pace: SendPace?
    /// The answer is incomplete, so the end of the connection must not look like the end of the
    /// answer.
    var isCut = false

    var isEmpty: Bool { sentCount >= bytes.count }
    var count: Int { bytes.count - sentCount }
}

/// How long, and with how many bytes, a client goes on after its last answer.
struct Lingering {
    var bytes = 0
    var began = Moment(nanoseconds: 0)
}

/// The one timer of a connection.
struct ConnectionTimer {
    enum Kind {
        case none, idle, head, body, write, linger
    }

    var kind = Kind.none
    /// The timer's time begins again although its kind stays the same.
    var mustRearm = false
}

package import Crypto
package import System

/// One request, as a transfer sends it.
package struct TransferRequest {
    package var method = "GET"
    package var url: String
    /// Each as "Name: value".
    package var headers: [String] = []
    /// nil: the request has no Accept header.
    package var accept: String?
    /// nil: no body and no Content-Length.
    package var body: OutgoingBody.Content?
    /// From the start of the request to the end of its response; nil: no limit.
    package var timeLimit: Duration?
    package var response: ResponseUse
    /// Where the connection goes in place of the URL's host. Without effect behind a proxy.
    package var target: ConnectTarget?
    /// Ends when the connection is there, for https with a verified certificate; nothing is sent.
    package var connectsOnly = false

    package var bodyBytes: Int { body.map { OutgoingBody($0).count } ?? 0 }

    package init(_ url: String, keeping response: ResponseUse) {
        self.url = url
        self.response = response
    }
}

/// The parts of a response to keep. Its head is limited to 64 KiB.
package struct ResponseUse {
    package enum Body {
        /// Keeps the first bytes; a body over `max` fails the transfer.
        case first(Int, max: Int)
        /// Keeps the whole body in memory that is wiped later; a body over `countMax` fails the
        /// transfer.
        case secret(WipedBytes)
        /// Ends the response after its head, whatever body the server sends.
        case none
        /// Passes each piece on with status and headers; false ends the transfer.
        case stream((TransferResponse.Head, UnsafeRawBufferPointer) -> Bool)
    }

    /// Names in lower case.
    package var headers: Set<String>
    package var body: Body

    package init(headers: Set<String> = [], body: Body) {
        self.headers = headers
        self.body = body
    }
}

/// An address to connect to for a host. URL, SNI, Host header and the check of the certificate keep
/// the host's name.
///
/// curl reuses a connection only for requests with the same target, so another target takes effect
/// with the next request.
package struct ConnectTarget: Sendable, Hashable {
    /// The address, as text.
    package let address: String
    /// The resolver that answered it.
    package let source: String
    /// As CURLOPT_CONNECT_TO takes it.
    let line: String

    package init(host: String, port: Int, address: String, source: String = "") {
        self.address = address
        self.source = source
        let place = address.contains(":") ? "[\(address)]" : address
        line = "\(host):\(port):\(place):\(port)"
    }
}

/// Options shared by all requests of one transfer.
package struct TransferOptions: Sendable {
    package enum Trust: Sendable {
        /// The system's certificate authorities.
        case system
        /// Only the authorities in a PEM file, also for an https proxy.
        case authorities(file: String)
        /// Only the certificate in the file, under any name; its key must have this hash
        /// ("sha256//…").
        case pinned(file: String, keyHash: String)
    }

    package struct ClientCertificate: Sendable, Equatable {
        package let chainFile: String
        package let keyFile: String

        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    package var trust = Trust.system
    /// Lets a TLS server choose HTTP/2. Otherwise all is HTTP/1.1.
    package var offersHTTP2 = false
    /// Shown to a server that asks for one.
    package var clientCertificate: ClientCertificate?
    /// nil: no proxy. The environment never adds one.
    package var proxy: Proxy?
    /// Covers name lookup, TCP, TLS, and the proxy's handshake.
    package var connectTimeout: Duration
    /// A request that moves no byte for this long fails; nil: no limit.
    package var stallTimeout: Duration?
    /// Older connections are not reused; nil: all may be.
    package var connectionsSince: Moment?

    package init(connectTimeout: Duration) {
        self.connectTimeout = connectTimeout
    }
}

/// A proxy that the network demands. TLS goes through it: it sees names and sizes only.
package struct Proxy: Sendable, Hashable {
    package enum Scheme: String, Sendable {
        case http
        /// The connection to the proxy is encrypted too, and its certificate verified.
        case https
        /// The proxy finds the address of the server.
        case socks5h
    }

    package let scheme: Scheme
    package let host: String
    package let port: Int
    package var user: String?
    package var password: Secret?

    package init(_ scheme: Scheme, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The address for curl, which takes user and password separately.
    var address: String { "\(scheme.rawValue)://\(host):\(port)" }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(address)
        hasher.combine(user)
    }
}

extension Proxy: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the password, so it may be shown.
    package var description: String {
        guard let user else { return address }
        let secret = password == nil ? "" : ":•••"
        return "\(scheme.rawValue)://\(percentEncoded(user))\(secret)@\(host):\(port)"
    }

    package var debugDescription: String { description }
}

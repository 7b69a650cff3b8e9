import COpenSSL
import CSystem
import Glibc
package import System

/// How a client of ours speaks TLS with a server.
package struct OutboundTLS: Sendable, Equatable {
    /// PEM file with the authorities of the server's certificate; nil: those the system trusts.
    package var authorities: String?
    /// Shown to a server that asks for it.
    package var certificate: TLSSettings.Certificate?

    package init(authorities: String? = nil, certificate: TLSSettings.Certificate? = nil) {
        self.authorities = authorities
        self.certificate = certificate
    }
}

/// Owns one TCP connection of ours to a server, plain or with TLS. No call blocks, except `wait`.
package struct OutboundSocket: ~Copyable {
    private let descriptor: OwnedDescriptor
    private var tls: OutboundTLSSession?

    /// Begins to connect. `checkConnected` tells the result once the socket is writable.
    package init(to address: SocketAddress) throws(SystemError) {
        let kind =
            CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let number = try system("socket") { socket(address.family, kind, 0) }
        let owned = OwnedDescriptor(taking: number)
        var on: CInt = 1
        setsockopt(number, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        let result = address.withPointer { connect(number, $0, $1) }
        let code = errno
        guard result == 0 || code == EINPROGRESS || code == EINTR else {
            throw SystemError(call: "connect", code: code)
        }
        descriptor = owned
        tls = nil
    }

    package func checkConnected() throws(SystemError) {
        var code: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        _ = try system("getsockopt") {
            getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &code, &size)
        }
        guard code == 0 else { throw SystemError(call: "connect", code: code) }
    }

    /// Turns on TLS: data is encrypted once `handshake` is done. `host` is the name or address that
    /// the server's certificate must have.
    package mutating func secure(_ settings: OutboundTLS, host: String) throws(TLSError) {
        tls = try OutboundTLSSession(settings, host: host, over: descriptor.number)
    }

    /// Continues the handshake. A plain connection needs none.
    package func handshake() throws(HandshakeError) -> HandshakeProgress {
        try tls?.handshake() ?? .done
    }

    /// `.done(0)`: the server has ended the connection.
    package func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.receive(into: room)
        case .none:
            try attempt("recv") { recv(descriptor.number, room.baseAddress, room.count, 0) }
        }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.send(bytes)
        case .none:
            try attempt("send") {
                Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    /// OpenSSL's reason for the last failure, if it has one; it is told once.
    package func takeTLSReason() -> String? { tls == nil ? nil : TLSReason.taken() }

    /// Sleeps until the socket is ready or failed (true), `wake` is readable, or the timeout.
    package func wait(
        for wish: Wish,
        or wake: WakeUp,
        timeout: Duration
    ) throws(SystemError) -> Bool {
        var entries = [
            pollfd(fd: descriptor.number, events: wish.events, revents: 0),
            pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds = CInt(clamping: max(0, timeout.milliseconds))
        _ = try system("poll") { poll(&entries, nfds_t(entries.count), milliseconds) }
        return entries[0].revents != 0
    }

    package enum Wish: Sendable {
        case read, write, readOrWrite

        fileprivate var events: Int16 {
            switch self {
            case .read: Int16(POLLIN)
            case .write: Int16(POLLOUT)
            case .readOrWrite: Int16(POLLIN | POLLOUT)
            }
        }
    }
}

package enum HandshakeProgress: Equatable, Sendable {
    case done, wantsToRead, wantsToWrite
}

/// The client's side of TLS over a borrowed, non-blocking descriptor. It verifies the server's
/// certificate and name.
///
/// OpenSSL writes without MSG_NOSIGNAL, which is harmless because SIGPIPE is masked or ignored in
/// every `Worker`.
struct OutboundTLSSession: ~Copyable {
    private let session: OpaquePointer

    init(_ settings: OutboundTLS, host: String, over descriptor: CInt) throws(TLSError) {
        let context = try Self.context(settings)
        // The session keeps the context.
        defer { SSL_CTX_free(context) }
        guard let session = SSL_new(context) else { throw .library(reason: TLSReason.take()) }
        guard SSL_set_fd(session, descriptor) == 1, Self.expect(host, session) else {
            SSL_free(session)
            throw .library(reason: TLSReason.take())
        }
        SSL_set_connect_state(session)
        self.session = session
    }

    deinit { SSL_free(session) }

    private static func context(_ settings: OutboundTLS) throws(TLSError) -> OpaquePointer {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw .library(reason: TLSReason.take())
        }
        do throws(TLSError) {
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
            SSL_CTX_ctrl(
                context,
                SSL_CTRL_MODE,
                Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER),
                nil
            )
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            if let file = settings.authorities {
                for certificate in try TLSFiles.certificates(in: file) { X509_free(certificate) }
                guard SSL_CTX_load_verify_file(context, file) == 1 else {
                    throw .refused(file: file, reason: TLSReason.take())
                }
            } else {
                SSL_CTX_set_default_verify_paths(context)
            }
            if let pair = settings.certificate { try TLSPair(pair).load(into: context) }
            return context
        } catch {
            SSL_CTX_free(context)
            throw error
        }
    }

    /// Demands a certificate for the host, and names it (SNI, which has no numeric addresses).
    private static func expect(_ host: String, _ session: OpaquePointer) -> Bool {
        if IPAddress(host) != nil {
            return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
        }
        SSL_set_hostflags(session, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        var name = Array(host.utf8CString)
        SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
        return SSL_set1_host(session, host) == 1
    }

    func handshake() throws(HandshakeError) -> HandshakeProgress {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        guard result != 1 else { return .done }
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: return .wantsToRead
        case SSL_ERROR_WANT_WRITE: return .wantsToWrite
        case SSL_ERROR_SSL where !Self.isCut: break
        default:
            throw HandshakeError(kind: .closed, reason: "the server ended the connection")
        }
        let reason = TLSReason.take()
        let verdict = SSL_get_verify_result(session)
        throw HandshakeError(
            kind: .refused,
            reason: verdict == Int(X509_V_OK)
                ? reason : String(cString: X509_verify_cert_error_string(verdict))
        )
    }

    /// The last failure is an end of the connection in the middle of TLS.
    private static var isCut: Bool {
        let reason = CInt(truncatingIfNeeded: ERR_peek_last_error() & UInt(ERR_REASON_MASK))
        return reason == SSL_R_UNEXPECTED_EOF_WHILE_READING
    }

    func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(session, room.baseAddress, room.count, &count)
        return try tlsOutcome(of: session, "SSL_read", result, count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        ERR_clear_error()
        var count = 0
        let result = SSL_write_ex(session, bytes.baseAddress, bytes.count, &count)
        return try tlsOutcome(of: session, "SSL_write", result, count)
    }
}

import COpenSSL
import Glibc

/// The client's side of TLS on a blocking descriptor.
package final class ClientTLS {
    package struct Options {
        package var serverName: String?
        /// A pair of `TestCertificates` to show.
        package var certificate: String?
        package var version: CInt = TLS1_3_VERSION
        package var protocols: [String] = []
        /// One of an earlier connection, to be resumed.
        package var session: TLSSession?

        package init(
            serverName: String? = nil,
            certificate: String? = nil,
            version: CInt = TLS1_3_VERSION,
            protocols: [String] = [],
            session: TLSSession? = nil
        ) {
            self.serverName = serverName
            self.certificate = certificate
            self.version = version
            self.protocols = protocols
            self.session = session
        }
    }

    private let context: OpaquePointer
    package let tls: OpaquePointer

    package init(_ options: Options, descriptor: CInt) {
        // OpenSSL writes to servers that have closed without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let files = TestCertificates.shared
        context = SSL_CTX_new(TLS_client_method())
        // Old versions are refused by the server, not by this client.
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.version), nil)
        SSL_CTX_load_verify_locations(context, files.certificate("authority"), nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        if let name = options.certificate {
            SSL_CTX_use_certificate_file(context, files.certificate(name), SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, files.key(name), SSL_FILETYPE_PEM)
        }
        tls = SSL_new(context)
        if let name = options.serverName {
            var bytes = Array(name.utf8CString)
            SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &bytes)
        }
        if !options.protocols.isEmpty {
            let offers = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            SSL_set_alpn_protos(tls, offers, UInt32(offers.count))
        }
        if let session = options.session { SSL_set_session(tls, session.handle) }
        SSL_set_fd(tls, descriptor)
    }

    deinit {
        SSL_free(tls)
        SSL_CTX_free(context)
    }

    package func connect() -> Bool { SSL_connect(tls) == 1 }

    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        return SSL_write_ex(tls, bytes.baseAddress, bytes.count, &count) == 1 ? count : -1
    }

    package func receive(_ room: UnsafeMutableRawBufferPointer) -> Int {
        ERR_clear_error()
        var count = 0
        errno = 0
        return SSL_read_ex(tls, room.baseAddress, room.count, &count) == 1 ? count : 0
    }

    /// Sends close_notify; what comes can still be read.
    package func finish() { SSL_shutdown(tls) }

    /// Whether the server has ended with close_notify.
    package var isFinishedByServer: Bool { SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN != 0 }
    /// Whether the server's certificate is for such a host.
    package func shows(_ name: String) -> Bool {
        SSL_get0_peer_certificate(tls).map { X509_check_host($0, name, 0, 0, nil) == 1 } ?? false
    }

    package var isResumed: Bool { SSL_session_reused(tls) == 1 }
    package var version: String { String(cString: SSL_get_version(tls)) }

    /// For the next connection.
    package var session: TLSSession? { SSL_get1_session(tls).map(TLSSession.init) }

    package var chosenProtocol: String {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(tls, &bytes, &count)
        return String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(count)),
            as: UTF8.self
        )
    }

    /// The alert that made the last call on this thread fail.
    package static var lastAlert: CInt {
        let code = ERR_peek_last_error()
        // SSL_AD_REASON_OFFSET
        return CInt(truncatingIfNeeded: code & 0x7f_ffff) - 1000
    }
}

/// One that a connection may go on with.
package final class TLSSession {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { SSL_SESSION_free(handle) }
}

import COpenSSL
import Glibc

@testable import HTTP
@testable import Net

/// The client's side of TLS on a blocking descriptor.
final class ClientTLS {
    struct Options {
        var serverName: String?
        /// A pair of `TestCertificates` to show.
        var certificate: String?
        var version: CInt = TLS1_3_VERSION
        var protocols: [String] = []
        /// One of an earlier connection, to be resumed.
        var session: OpaquePointer?
    }

    private let context: OpaquePointer
    private let tls: OpaquePointer

    init(_ options: Options, descriptor: CInt) {
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
        if let session = options.session { SSL_set_session(tls, session) }
        SSL_set_fd(tls, descriptor)
    }

    deinit {
        SSL_free(tls)
        SSL_CTX_free(context)
    }

    func connect() -> Bool { SSL_connect(tls) == 1 }

    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        return SSL_write_ex(tls, bytes.baseAddress, bytes.count, &count) == 1 ? count : -1
    }

    func receive(_ room: UnsafeMutableRawBufferPointer) -> Int {
        ERR_clear_error()
        var count = 0
        errno = 0
        return SSL_read_ex(tls, room.baseAddress, room.count, &count) == 1 ? count : 0
    }

    /// Sends close_notify; what comes can still be read.
    func finish() { SSL_shutdown(tls) }

    /// Whether the server has ended with close_notify.
    var isFinishedByServer: Bool { SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN != 0 }
    var isResumed: Bool { SSL_session_reused(tls) == 1 }
    var version: String { String(cString: SSL_get_version(tls)) }

    /// For the next connection, which frees nothing: tests are short.
    var session: OpaquePointer? { SSL_get1_session(tls) }

    var chosenProtocol: String {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(tls, &bytes, &count)
        return String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(count)),
            as: UTF8.self
        )
    }

    /// The alert that made the last call on this thread fail.
    static var lastAlert: CInt {
        let code = ERR_peek_last_error()
        // SSL_AD_REASON_OFFSET
        return CInt(truncatingIfNeeded: code & 0x7f_ffff) - 1000
    }

    var serverNames: [String] {
        SSL_get0_peer_certificate(tls).map { certificateNames($0).map(\.text) } ?? []
    }
}

extension TestClient {
    struct NoHandshake: Error {}

    /// The handshake, from the client's side.
    @discardableResult
    func secure(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> ClientTLS {
        let tls = ClientTLS(options, descriptor: descriptor)
        guard tls.connect() else { throw NoHandshake() }
        self.tls = tls
        return tls
    }
}

extension TestServer {
    static func securely(
        _ names: [String] = ["server"],
        clients: (TLSSettings.ClientCertificates) = .none,
        loops: Int = 2,
        _ adjust: (inout HTTPServer.Limits) -> Void = { _ in }
    ) throws -> TestServer {
        let files = TestCertificates.shared
        let context = try TLSContext(
            TLSSettings(certificates: names.map(files.files), clientCertificates: clients)
        )
        return try TestServer(loops: loops, tls: context, adjust)
    }

    func secureClient(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> TestClient {
        let client = try client()
        try client.secure(options)
        return client
    }
}

import COpenSSL
import Glibc

/// Applies the settings to an OpenSSL context.
func configure(
    _ context: OpaquePointer,
    _ settings: TLSSettings,
    _ clientRules: ClientRules
) throws(TLSError) {
    let version =
        switch settings.minimumVersion {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
    SSL_CTX_set_options(context, sluice_server_options())
    // Partial writes, because the kernel may take less than a whole answer. Moving buffers, because
    // the answer's array may move between writes. Released buffers, so that an idle connection
    // holds none.
    let modes =
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        | SSL_MODE_RELEASE_BUFFERS
    SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    // Reads a record's header and content with one call.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    // OpenSSL keeps the client's certificates parsed, some ten times their size on the wire. A
    // chain takes a few KiB.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, 16 << 10, nil)
    guard SSL_CTX_set_cipher_list(context, settings.ciphers) == 1 else {
        ERR_clear_error()
        throw .noSuchCiphers(settings.ciphers)
    }
    // Sessions are resumed with tickets, which cost the server no memory. A ticket holds the
    // client's certificate and ends with the context: after a reload every client shows its
    // certificate again.
    SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    TLSTickets.use(in: context, for: Int(settings.sessionTime.components.seconds))
    let name = Array("sluice".utf8)
    SSL_CTX_set_session_id_context(context, name, UInt32(name.count))
    SSL_CTX_set_alpn_select_cb(context, chooseProtocol, nil)
    try clientRules.apply(to: context)
}

/// ALPN chooses HTTP/1.1 and refuses a client that offers no such protocol (RFC 7301 section 3.2).
private func chooseProtocol(
    _ session: OpaquePointer?,
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> CInt {
    let wanted = StaticString("http/1.1")
    let offers = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
    var start = 0
    while start < offers.count {
        let count = Int(offers[start])
        guard start + 1 + count <= offers.count, let offered else { break }
        if count == wanted.utf8CodeUnitCount,
            memcmp(offered + start + 1, wanted.utf8Start, count) == 0
        {
            // OpenSSL copies the name from there.
            chosen?.pointee = offered + start + 1
            chosenCount?.pointee = UInt8(count)
            return SSL_TLSEXT_ERR_OK
        }
        start += 1 + count
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

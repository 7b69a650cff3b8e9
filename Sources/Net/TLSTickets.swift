import COpenSSL
import Glibc

/// Limits resumption to the agreed time after a client showed its certificate.
///
/// OpenSSL gives each resumed client a new ticket with a new lifetime, and does not check its
/// certificate again. So each ticket carries the time at which its session began, and that time
/// decides.
enum TLSTickets {
    static func use(in context: OpaquePointer, for seconds: Int) {
        SSL_CTX_set_timeout(context, seconds)
        SSL_CTX_set_session_ticket_cb(context, beforeTicket, afterTicket, nil)
    }
}

private func beforeTicket(_ session: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> CInt {
    let ticket = SSL_get_session(session)
    guard began(ticket) == nil else { return 1 }
    var now = Int64(time(nil))
    return SSL_SESSION_set1_ticket_appdata(ticket, &now, MemoryLayout<Int64>.size)
}

private func afterTicket(
    _ session: OpaquePointer?,
    _ ticket: OpaquePointer?,
    _ keyName: UnsafePointer<UInt8>?,
    _ keyNameCount: Int,
    _ status: CInt,
    _ argument: UnsafeMutableRawPointer?
) -> CInt {
    guard status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW,
        mayBeUsed(ticket, for: SSL_CTX_get_timeout(SSL_get_SSL_CTX(session)))
    else { return SSL_TICKET_RETURN_IGNORE_RENEW }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
}

private func mayBeUsed(_ ticket: OpaquePointer?, for seconds: Int) -> Bool {
    let now = Int64(time(nil))
    guard let began = began(ticket), began <= now, now - began < Int64(seconds) else {
        return false
    }
    guard let certificate = SSL_SESSION_get0_peer(ticket) else { return true }
    // A result of 1 means later than now.
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) == 1
}

private func began(_ ticket: OpaquePointer?) -> Int64? {
    var bytes: UnsafeMutableRawPointer?
    var count = 0
    guard SSL_SESSION_get0_ticket_appdata(ticket, &bytes, &count) == 1, let bytes,
        count == MemoryLayout<Int64>.size
    else { return nil }
    return bytes.loadUnaligned(as: Int64.self)
}

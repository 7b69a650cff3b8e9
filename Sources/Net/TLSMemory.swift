import COpenSSL

/// Counts the memory that OpenSSL holds for one session, through OpenSSL's own allocations. Only
/// the session's thread uses it.
///
/// OpenSSL allocates room for a message once four bytes have told its length (128 KiB for a
/// ClientHello), and a buffer for each record that has begun. So a client decides how much memory
/// it takes.
final class TLSMemory {
    /// What an idle TLS connection may hold without a charge; docs/scaling.md counts this for each
    /// connection.
    private static let idleBytes = 16 << 10
    /// The same with a client certificate and two intermediates. Anything above is charged.
    private static let settledMax = 32 << 10
    /// The record buffer, which exists while part of a record is pending.
    private static let recordBytes = 17 << 10

    private var bytes = 0
    /// The size after the handshake; a client certificate increases it.
    private var settledBytes = idleBytes

    static var ofThread: Int { sluice_openssl_bytes() }

    var heldBytes: Int { max(0, bytes - settledBytes) }

    func note(since before: Int) {
        bytes += Self.ofThread - before
    }

    /// Records the size after the handshake. Bytes that followed the handshake are in transit, so
    /// their record buffer does not count as idle memory.
    func settle(since before: Int, hasPending: Bool) {
        let held = bytes + Self.ofThread - before - (hasPending ? Self.recordBytes : 0)
        settledBytes = min(max(Self.idleBytes, held), Self.settledMax)
    }
}

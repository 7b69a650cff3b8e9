import COpenSSL

/// What OpenSSL holds for one session, by its own requests for memory. Used by the session's thread alone.
///
/// OpenSSL takes room for a message as soon as four bytes have told its length, 128 KiB for a ClientHello, and a buffer
/// for a record that has begun: a client decides how much that is.
final class TLSMemory {
    /// What a connection over TLS may hold that has nothing under way; docs/scaling.md counts it for each.
    private static let idleBytes = 16 << 10
    /// The same with a certificate of the client and two between it and its authority. What is more is charged.
    private static let settledMax = 32 << 10
    /// The buffer for a record, which is there while something of it is pending.
    private static let recordBytes = 17 << 10

    private var bytes = 0
    /// What it held with its handshake done: the client's certificate makes it more.
    private var settledBytes = idleBytes

    static var ofThread: Int { sluice_openssl_bytes() }

    var heldBytes: Int { max(0, bytes - settledBytes) }

    func note(since before: Int) {
        bytes += Self.ofThread - before
    }

    /// The handshake is done. What came behind it is under way, and not what the connection holds when it is idle.
    func settle(since before: Int, hasPending: Bool) {
        let held = bytes + Self.ofThread - before - (hasPending ? Self.recordBytes : 0)
        settledBytes = min(max(Self.idleBytes, held), Self.settledMax)
    }
}

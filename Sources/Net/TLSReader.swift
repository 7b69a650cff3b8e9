import COpenSSL
import Glibc

/// What is noted at the reader of a session while OpenSSL works on it.
///
/// OpenSSL calls back from within its own calls, and the notes stand where both sides find them: in
/// the reader's callback argument, which is as large as a pointer and costs no memory.
struct TLSReader {
    /// How many messages of a handshake one call may take. A handshake has seven at most.
    ///
    /// OpenSSL goes on by itself after those that come between requests (KeyUpdate, attempts to
    /// negotiate again), for as long as there are more: a client that sends nothing else would hold
    /// its loop inside of one `SSL_read`.
    static let messagesMax = 16

    private let reader: OpaquePointer?

    init(of session: OpaquePointer?) {
        reader = SSL_get_rbio(session)
    }

    /// From now on the notes are kept.
    func watch(_ session: OpaquePointer) {
        BIO_set_callback_ex(reader, aroundRead)
        SSL_set_msg_callback(session, afterMessage)
    }

    /// Before a call: a record that was in the buffer says nothing about what has come since.
    func forget() { BIO_set_callback_arg(reader, nil) }

    /// Whether the last read was given less than it had room for: nothing is left there until the
    /// next event, and another try would only be a system call to hear so.
    fileprivate(set) var wasEmptied: Bool {
        get { notes & 1 == 1 }
        nonmutating set { notes = notes & ~1 | (newValue ? 1 : 0) }
    }

    /// Messages of a handshake since `forget`.
    fileprivate var messages: Int {
        get { notes >> 1 }
        nonmutating set { notes = newValue << 1 | notes & 1 }
    }

    private var notes: Int {
        get { Int(bitPattern: BIO_get_callback_arg(reader)) }
        nonmutating set {
            // Nobody follows it.
            BIO_set_callback_arg(reader, UnsafeMutablePointer<CChar>(bitPattern: newValue))
        }
    }

    fileprivate init(_ reader: OpaquePointer?) {
        self.reader = reader
    }
}

private func aroundRead(
    _ reader: OpaquePointer?,
    _ operation: CInt,
    _ bytes: UnsafePointer<CChar>?,
    _ room: Int,
    _ whole: CInt,
    _ long: Int,
    _ result: CInt,
    _ count: UnsafeMutablePointer<Int>?
) -> Int {
    if operation == BIO_CB_READ, TLSReader(reader).messages > TLSReader.messagesMax {
        // Not one to be tried again.
        BIO_clear_flags(reader, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
        errno = EPROTO
        return -1
    }
    if operation == BIO_CB_READ | BIO_CB_RETURN, result > 0, let count {
        TLSReader(reader).wasEmptied = count.pointee < room
    }
    return Int(result)
}

private func afterMessage(
    _ isOurs: CInt,
    _ version: CInt,
    _ kind: CInt,
    _ bytes: UnsafeRawPointer?,
    _ count: Int,
    _ session: OpaquePointer?,
    _ argument: UnsafeMutableRawPointer?
) {
    guard isOurs == 0, kind == SSL3_RT_HANDSHAKE else { return }
    TLSReader(of: session).messages += 1
}

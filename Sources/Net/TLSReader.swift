import COpenSSL
import Glibc

/// Notes about a session's reads, taken while OpenSSL works on it.
///
/// OpenSSL calls back from within its own calls. The notes are kept in the reader's callback
/// argument, which both sides can reach; it is as large as a pointer and costs no memory.
struct TLSReader {
    /// The limit of handshake messages in one call. A handshake has at most seven.
    ///
    /// OpenSSL processes messages between requests (KeyUpdate, renegotiation attempts) for as long
    /// as they come. A client that sends nothing else would hold its loop inside one `SSL_read`.
    static let messagesMax = 16

    private let reader: OpaquePointer?

    init(of session: OpaquePointer?) {
        reader = SSL_get_rbio(session)
    }

    /// Starts taking notes.
    func watch(_ session: OpaquePointer) {
        BIO_set_callback_ex(reader, aroundRead)
        SSL_set_msg_callback(session, afterMessage)
    }

    /// Clears the notes before a call: a record that was already buffered tells nothing about the
    /// socket.
    func forget() { BIO_set_callback_arg(reader, nil) }

    /// True if the last read returned less than it had room for. The socket is then empty until the
    /// next event, and another read would only waste a system call.
    fileprivate(set) var wasEmptied: Bool {
        get { notes & 1 == 1 }
        nonmutating set { notes = notes & ~1 | (newValue ? 1 : 0) }
    }

    /// Handshake messages since `forget`.
    fileprivate var messages: Int {
        get { notes >> 1 }
        nonmutating set { notes = newValue << 1 | notes & 1 }
    }

    private var notes: Int {
        get { Int(bitPattern: BIO_get_callback_arg(reader)) }
        nonmutating set {
            // The pointer is a number in disguise and is never dereferenced.
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
        // The error must not look retryable.
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

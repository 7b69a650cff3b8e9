import COpenSSL
import Glibc
import System

/// Reads PEM files for OpenSSL; errors name the file.
enum TLSFiles {
    /// Returns at least one certificate. The caller frees them.
    static func certificates(in file: String) throws(TLSError) -> [OpaquePointer] {
        let content = try open(file)
        defer { BIO_free(content) }
        var certificates: [OpaquePointer] = []
        while let certificate = PEM_read_bio_X509(content, nil, nil, nil) {
            certificates.append(certificate)
        }
        // The reader always ends with an error: either no further certificate, or an unreadable
        // one. A file that is still being written must not pass as a shorter one.
        let end = ERR_peek_last_error()
        let reason = TLSReason.take()
        guard ERR_GET_LIB(end) == ERR_LIB_PEM, ERR_GET_REASON(end) == PEM_R_NO_START_LINE else {
            for certificate in certificates { X509_free(certificate) }
            throw .damaged(file: file, reason: reason)
        }
        guard !certificates.isEmpty else { throw .holdsNoCertificate(file: file) }
        return certificates
    }

    /// Returns at least one list. The caller frees them.
    static func revocationLists(in file: String) throws(TLSError) -> [OpaquePointer] {
        let content = try open(file)
        defer { BIO_free(content) }
        var lists: [OpaquePointer] = []
        while let list = PEM_read_bio_X509_CRL(content, nil, nil, nil) { lists.append(list) }
        // As above: a file that is still being written must not pass as a shorter one.
        let end = ERR_peek_last_error()
        let reason = TLSReason.take()
        guard ERR_GET_LIB(end) == ERR_LIB_PEM, ERR_GET_REASON(end) == PEM_R_NO_START_LINE else {
            for list in lists { X509_CRL_free(list) }
            throw .damaged(file: file, reason: reason)
        }
        guard !lists.isEmpty else { throw .holdsNoRevocationList(file: file) }
        return lists
    }

    static func key(in file: String) throws(TLSError) -> OpaquePointer {
        let content = try open(file)
        defer { BIO_free(content) }
        var isLocked = false
        let key = withUnsafeMutablePointer(to: &isLocked) { isLocked in
            // Without the callback, OpenSSL would ask for a passphrase on the terminal and block.
            PEM_read_bio_PrivateKey(
                content,
                nil,
                { _, _, _, isLocked in
                    isLocked?.assumingMemoryBound(to: Bool.self).pointee = true
                    return -1
                },
                isLocked
            )
        }
        ERR_clear_error()
        if let key { return key }
        throw isLocked ? .keyIsLocked(file: file) : .holdsNoKey(file: file)
    }

    private static let bytesMax = 16 << 20

    /// The content of a file. A pipe is refused: it would hold the thread.
    private static func open(_ file: String) throws(TLSError) -> OpaquePointer {
        do throws(FileProblem) {
            var content = try fileContent(file, bytesMax: bytesMax, waits: false)
            // It may be a key.
            defer {
                content.withUnsafeMutableBytes { bytes in
                    if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
                }
            }
            guard let copy = BIO_new(BIO_s_mem()),
                content.isEmpty || BIO_write(copy, content, CInt(content.count)) == content.count
            else { throw FileProblem(reason: "memory is short") }
            return copy
        } catch {
            throw .unreadable(file: file, reason: error.reason)
        }
    }
}

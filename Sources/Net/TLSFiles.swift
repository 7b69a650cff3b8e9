import COpenSSL
import Glibc

/// Reads what OpenSSL wants from PEM files, and says which file is at fault.
enum TLSFiles {
    /// Puts the chain and the key of one certificate into the context.
    static func load(
        _ files: TLSSettings.Certificate,
        into context: OpaquePointer
    ) throws(TLSError) {
        let chain = try certificates(in: files.chainFile)
        defer { for certificate in chain { X509_free(certificate) } }
        guard SSL_CTX_use_certificate(context, chain[0]) == 1 else {
            throw .refused(file: files.chainFile, reason: TLSReason.take())
        }
        for certificate in chain.dropFirst() {
            // The macro SSL_CTX_add1_chain_cert.
            guard
                SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
                    == 1
            else {
                throw .refused(file: files.chainFile, reason: TLSReason.take())
            }
        }
        let key = try key(in: files.keyFile)
        defer { EVP_PKEY_free(key) }
        guard X509_check_private_key(chain[0], key) == 1 else {
            ERR_clear_error()
            throw .keyDoesNotFit(key: files.keyFile, certificate: files.chainFile)
        }
        guard SSL_CTX_use_PrivateKey(context, key) == 1 else {
            throw .refused(file: files.keyFile, reason: TLSReason.take())
        }
    }

    /// Whoever takes the certificates frees them. There is at least one.
    static func certificates(in file: String) throws(TLSError) -> [OpaquePointer] {
        let content = try open(file)
        defer { BIO_free(content) }
        var certificates: [OpaquePointer] = []
        while let certificate = PEM_read_bio_X509(content, nil, nil, nil) {
            certificates.append(certificate)
        }
        // The reader ends with an error for want of a further one.
        ERR_clear_error()
        guard !certificates.isEmpty else { throw .holdsNoCertificate(file: file) }
        return certificates
    }

    private static func key(in file: String) throws(TLSError) -> OpaquePointer {
        let content = try open(file)
        defer { BIO_free(content) }
        var isLocked = false
        let key = withUnsafeMutablePointer(to: &isLocked) { isLocked in
            // Without this OpenSSL would ask for a passphrase at the terminal, and wait.
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

    private static func open(_ file: String) throws(TLSError) -> OpaquePointer {
        if let content = BIO_new_file(file, "r") { return content }
        let code = errno
        ERR_clear_error()
        throw .unreadable(file: file, reason: String(cString: strerror(code)))
    }
}

import COpenSSL

/// A certificate with its chain and its key, read from two files.
struct TLSPair: ~Copyable {
    /// The server's own certificate comes first.
    private let chain: [OpaquePointer]
    private let key: OpaquePointer
    private let files: TLSSettings.Certificate

    init(_ files: TLSSettings.Certificate) throws(TLSError) {
        let chain = try TLSFiles.certificates(in: files.chainFile)
        do throws(TLSError) {
            let key = try TLSFiles.key(in: files.keyFile)
            guard X509_check_private_key(chain[0], key) == 1 else {
                EVP_PKEY_free(key)
                ERR_clear_error()
                throw .keyDoesNotFit(key: files.keyFile, certificate: files.chainFile)
            }
            (self.chain, self.key, self.files) = (chain, key, files)
        } catch {
            for certificate in chain { X509_free(certificate) }
            throw error
        }
    }

    deinit {
        for certificate in chain { X509_free(certificate) }
        EVP_PKEY_free(key)
    }

    var certificate: TLSCertificate { TLSCertificate(chain[0], file: files.chainFile) }

    /// EC or RSA: a context holds one certificate of each kind.
    var keyKind: CInt { EVP_PKEY_get_base_id(key) }

    func load(into context: OpaquePointer) throws(TLSError) {
        guard SSL_CTX_use_certificate(context, chain[0]) == 1 else {
            throw .refused(file: files.chainFile, reason: TLSReason.take())
        }
        for certificate in chain.dropFirst() {
            // The macro SSL_CTX_add1_chain_cert, which adds to the certificate loaded last.
            guard
                SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
                    == 1
            else {
                throw .refused(file: files.chainFile, reason: TLSReason.take())
            }
        }
        guard SSL_CTX_use_PrivateKey(context, key) == 1 else {
            throw .refused(file: files.keyFile, reason: TLSReason.take())
        }
    }
}

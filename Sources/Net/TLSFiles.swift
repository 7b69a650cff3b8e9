import COpenSSL
import Glibc
import System

/// Reads PEM files for OpenSSL; errors name the file.
enum TLSFiles {
    /// Returns at least one certificate. The caller frees them.
    static func certificates(in file: String) throws(TLSError) -> [OpaquePointer] {
        let found = try items(in: file, { PEM_read_bio_X509($0, nil, nil, nil) }, X509_free)
        guard !found.isEmpty else { throw .holdsNoCertificate(file: file) }
        return found
    }

    /// Returns at least one list. The caller frees them.
    static func revocationLists(in file: String) throws(TLSError) -> [OpaquePointer] {
        let found = try items(in: file, { PEM_read_bio_X509_CRL($0, nil, nil, nil) }, X509_CRL_free)
        guard !found.isEmpty else { throw .holdsNoRevocationList(file: file) }
        return found
    }

    private static func items(
        in file: String,
        _ next: (OpaquePointer) -> OpaquePointer?,
        _ free: (OpaquePointer) -> Void
    ) throws(TLSError) -> [OpaquePointer] {
        let content = try open(file)
        defer { BIO_free(content) }
        var items: [OpaquePointer] = []
        while let item = next(content) { items.append(item) }
        // The reader always ends with an error: either no further item, or an unreadable one. A
        // file that is still being written must not pass as a shorter one.
        let end = ERR_peek_last_error()
        let reason = TLSReason.take()
        guard ERR_GET_LIB(end) == ERR_LIB_PEM, ERR_GET_REASON(end) == PEM_R_NO_START_LINE else {
            for item in items { free(item) }
            throw .damaged(file: file, reason: reason)
        }
        return items
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
            guard let copy = BIO_new(BIO_s_mem()) else {
                throw FileProblem(reason: "memory is short")
            }
            let count = CInt(content.count)
            guard count == 0 || BIO_write(copy, content, count) == count else {
                BIO_free(copy)
                throw FileProblem(reason: "memory is short")
            }
            return copy
        } catch {
            throw .unreadable(file: file, reason: error.reason)
        }
    }
}

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

/// Why a TLS listener's files cannot be used, and the remedy.
package enum TLSError: Error, Equatable, CustomStringConvertible {
    case noCertificate
    case unreadable(file: String, reason: String)
    case holdsNoCertificate(file: String)
    case holdsNoRevocationList(file: String)
    case damaged(file: String, reason: String)
    case holdsNoKey(file: String)
    case keyIsLocked(file: String)
    case keyDoesNotFit(key: String, certificate: String)
    case refused(file: String, reason: String)
    case noSuchCiphers(String)
    /// OpenSSL itself failed, most likely without memory.
    case library(reason: String)

    /// The file at fault, if the error concerns one.
    package var file: String? {
        switch self {
        case .unreadable(let file, _), .holdsNoCertificate(let file), .holdsNoKey(let file),
            .keyIsLocked(let file), .keyDoesNotFit(let file, _), .refused(let file, _),
            .holdsNoRevocationList(let file), .damaged(let file, _):
            file
        case .noCertificate, .noSuchCiphers, .library: nil
        }
    }

    package var description: String {
        switch self {
        case .noCertificate:
            "TLS needs a certificate; name a file with the certificate chain and one with its key"
        case .unreadable(let file, let reason):
            "\(file) cannot be read: \(reason);"
                + " check the path and that the gateway's user may read the file"
        case .holdsNoCertificate(let file):
            "\(file) holds no certificate in PEM form (-----BEGIN CERTIFICATE-----);"
                + " a file in DER form becomes one with: openssl x509 -inform der -in FILE"
        case .holdsNoRevocationList(let file):
            "\(file) holds no revocation list in PEM form (-----BEGIN X509 CRL-----);"
                + " a file in DER form becomes one with: openssl crl -inform der -in FILE"
        case .damaged(let file, let reason):
            "\(file) is damaged, or is being written at this moment: \(reason);"
                + " write a complete file elsewhere and rename it to this path"
        case .holdsNoKey(let file):
            "\(file) holds no private key in PEM form (-----BEGIN PRIVATE KEY-----);"
                + " a file in DER form becomes one with: openssl pkey -inform der -in FILE"
        case .keyIsLocked(let file):
            "the private key in \(file) is locked with a passphrase;"
                + " unlock it with: openssl pkey -in FILE -out NEWFILE"
        case .keyDoesNotFit(let key, let certificate):
            "the private key in \(key) does not belong to the first certificate in \(certificate);"
                + " name the pair that was issued together, the server's own certificate first"
        case .refused(let file, let reason):
            "\(file) cannot be used for TLS: \(reason);"
                + " have a certificate issued with an EC key (P-256) or an RSA key of 2048 bits or more"
        case .noSuchCiphers(let list):
            "OpenSSL does not know any cipher in \"\(list)\";"
                + " list the known ones with: openssl ciphers; the default suits most"
        case .library(let reason):
            "OpenSSL cannot set up TLS: \(reason)"
        }
    }
}

/// OpenSSL's own text for the last failure on this thread.
enum TLSReason {
    /// Returns the text and clears it, so that it is not taken for the reason of a later failure.
    static func take() -> String { taken() ?? "no reason given" }

    /// nil: nothing has failed.
    static func taken() -> String? {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return nil }
        return String(cString: reason)
    }
}

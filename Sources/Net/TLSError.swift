import COpenSSL

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

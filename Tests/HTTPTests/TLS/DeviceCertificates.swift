import COpenSSL
import Glibc
import TestSupport

/// Certificates of clients beyond the usual ones.
extension TestCertificates {
    /// With these extensions ("extendedKeyUsage=serverAuth"), in a pair of files of this name.
    func issue(
        _ name: String,
        subject: String = "/CN=x",
        by authority: String = "authority",
        extensions: [String] = []
    ) {
        openssl(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-utf8", "-days", "2", "-subj", subject, "-keyout", key(name), "-out",
                certificate(name), "-CA", certificate(authority), "-CAkey", key(authority),
            ] + extensions.flatMap { ["-addext", $0] }
        )
    }

    /// Has it end so many seconds from now; the command knows days only.
    func end(_ name: String, in seconds: Int, by authority: String = "authority") {
        let file = BIO_new_file(certificate(name), "r")
        let whole = PEM_read_bio_X509(file, nil, nil, nil)
        BIO_free(file)
        let keyFile = BIO_new_file(key(authority), "r")
        let signer = PEM_read_bio_PrivateKey(keyFile, nil, nil, nil)
        BIO_free(keyFile)
        X509_gmtime_adj(X509_getm_notBefore(whole), -3600)
        X509_gmtime_adj(X509_getm_notAfter(whole), seconds)
        X509_sign(whole, signer, EVP_sha256())
        let written = BIO_new_file(certificate(name), "w")
        PEM_write_bio_X509(written, whole)
        BIO_free(written)
        EVP_PKEY_free(signer)
        X509_free(whole)
    }

    func content(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

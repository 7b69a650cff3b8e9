import COpenSSL
import TestSupport

@testable import HTTP

extension ClientTLS {
    /// What the calls in `body` would send, as it goes over the wire.
    func records(_ descriptor: CInt, bytesMax: Int, _ body: () -> Void) -> [UInt8] {
        SSL_set0_wbio(tls, BIO_new(BIO_s_mem()))
        let written = SSL_get_wbio(tls)
        body()
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = BIO_read(written, &bytes, CInt(bytes.count))
        SSL_set0_wbio(tls, BIO_new_socket(descriptor, BIO_NOCLOSE))
        return Array(bytes.prefix(Int(max(0, count))))
    }
}

import Crypto
import HTTP
import System

extension RequestHead {
    /// Refuses a body that is not the one its client signed, when the client said what that was. SLS's SDKs write
    /// the MD5 in hexadecimal.
    func checkDigest(of body: UnsafeRawBufferPointer) throws(Refusal) {
        guard let given = field("content-md5"), !given.isEmpty else { return }
        let right = hex(Digest.md5(body), upper: true)
        guard given.uppercased() == right else {
            throw Refusal(
                400,
                "InvalidContentMD5",
                "Content-MD5 \(clipped(given)) is not the body's, \(right)"
            )
        }
    }
}

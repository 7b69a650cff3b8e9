import Crypto
import Ingest

/// What captures show of text: secrets in it are hidden, whatever stands around them.
enum MaskEntry: FuzzEntry {
    static let name = "mask"
    static let bytesMax = 1024

    private static let canary = "canary0123456789"
    private static let secret = Secret("known-0123456789")

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let noise = bytes + [UInt8(ascii: "\n")]
        let line = Array("m=1 password=\(canary) x=1\n{\"password\":\"\(canary)\"}\n".utf8)
        try hides(noise + line + bytes)
        try hides(bytes + secret.withBytes { Array($0) } + bytes)
        let once = Mask.hidingSecrets(in: bytes)
        try check(once.count <= 64 * (bytes.count + 1), "\(bytes.count) bytes become \(once.count)")
    }

    private static func hides(_ text: [UInt8]) throws(Contradiction) {
        let shown = String(decoding: Mask.hidingSecrets(in: text), as: UTF8.self)
        try check(!shown.contains(canary), "a password is shown")
        try check(!shown.contains(secret.revealed), "a secret of the process is shown")
    }
}

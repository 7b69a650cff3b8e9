import Crypto
import SLS
import System

@testable import Tokens

/// JSON Web Tokens: the input is one, or its first line is the header and the rest the claims of
/// one that is signed.
enum TokenEntry: FuzzEntry {
    static let name = "tokens"

    private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    private static let rules = {
        let key = TokenKey(id: "k", .secret(Secret("0123456789abcdef0123456789abcdef")))
        var rules = TokenRules(algorithm: .hs256, keys: [key])
        rules.audiences = ["gw"]
        rules.issuer = "joe"
        rules.destinationsClaim = "scope"
        return rules
    }()

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        if let decoded = base64Decoded(bytes[...], .url) {
            try check(encoded(decoded) == bytes, "two texts stand for one thing")
        }
        _ = try? rules.verify(bytes[...], at: Fixed.arrival)
        let parts = bytes.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2 else { return }
        let point = [UInt8(ascii: ".")]
        let message = encoded(Array(parts[0])) + point + encoded(Array(parts[1]))
        let token = message + point + encoded(Digest.hmacSHA256(key: secret, message))
        guard let verified = try? rules.verify(token[...], at: Fixed.arrival) else { return }
        try check(verified.end > Fixed.arrival.seconds, "it has ended: \(verified)")
        try check(verified.destinations != nil, "for all destinations, though it has a list")
        // Not with a single bit of it changed, in whichever part.
        for place in [0, message.count / 2, token.count - 2] {
            var changed = token
            changed[place] ^= 1
            let isTaken = (try? rules.verify(changed[...], at: Fixed.arrival)) != nil
            try check(!isTaken, "taken with another byte at \(place)")
        }
    }

    private static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
        )
        var text: [UInt8] = []
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
        return text
    }
}

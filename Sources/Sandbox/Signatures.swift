import Crypto
import System

extension ReceivedRequest {
    func canonicalV4(bodyDigest: String) -> String {
        let signed = fields.filter { field in
            field.name == "host" || field.name == "content-type"
                || (field.name.hasPrefix("x-log-") && !field.name.hasPrefix("x-log-meta-"))
                || field.name.hasPrefix("x-acs-")
        }.sorted { Self.inByteOrder($0.name, $1.name) }
        let pairs = query.sorted { Self.inByteOrder($0.key, $1.key) }.map { pair in
            pair.value.isEmpty ? pair.key : pair.key + "=" + Self.percentEncoded(pair.value)
        }
        var text = method + "\n" + path + "\n"
        text += pairs.joined(separator: "&") + "\n"
        for field in signed { text += field.name + ":" + field.value + "\n" }
        text += "\n" + signed.map(\.name).joined(separator: ";") + "\n"
        return text + bodyDigest
    }

    func signatureV4(secret: Secret, region: String, bodyDigest: String) -> String {
        let moment = self["x-log-date"] ?? ""
        let day = String(moment.prefix(8))
        let canonical = canonicalV4(bodyDigest: bodyDigest)
        var text = "SLS4-HMAC-SHA256\n" + moment + "\n"
        text += day + "/" + region + "/sls/aliyun_v4_request\n"
        text += hex(Digest.sha256(Array(canonical.utf8)))
        var key = Array(("aliyun_v4" + secret.revealed).utf8)
        for step in [day, region, "sls", "aliyun_v4_request"] {
            key = Digest.hmacSHA256(key: key, Array(step.utf8))
        }
        return hex(Digest.hmacSHA256(key: key, Array(text.utf8)))
    }

    private static let upperDigits = Array("0123456789ABCDEF")

    /// Encodes every byte except RFC 3986's unreserved characters as `%XX`. It judges what the
    /// gateway signs, so it does not share the gateway's function.
    static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded.append("%")
                encoded.append(upperDigits[Int(byte >> 4)])
                encoded.append(upperDigits[Int(byte & 15)])
            }
        }
        return encoded
    }

    /// The date that a v1 signature covers: `x-log-date` if present, else `Date`.
    var dateV1: String? { self["x-log-date"] ?? self["date"] }

    /// The text that a v1 signature covers, built from the received request.
    func textToSignV1() -> String {
        var text = method
        text += "\n" + (self["content-md5"] ?? "")
        text += "\n" + (self["content-type"] ?? "")
        text += "\n" + (dateV1 ?? "") + "\n"
        let signed = fields.filter { field in
            field.name != "x-log-date"
                && (field.name.hasPrefix("x-log-") || field.name.hasPrefix("x-acs-"))
        }
        for field in signed.sorted(by: { Self.inByteOrder($0.name, $1.name) }) {
            text += field.name + ":" + field.value + "\n"
        }
        text += path
        if !query.isEmpty {
            let pairs = query.sorted { Self.inByteOrder($0.key, $1.key) }
            text += "?" + pairs.map { $0.key + "=" + $0.value }.joined(separator: "&")
        }
        return text
    }

    func signatureV1(secret: Secret) -> String {
        Digest.base64(
            Digest.hmacSHA1(key: Array(secret.revealed.utf8), Array(textToSignV1().utf8))
        )
    }

    /// Sorts names by their bytes; `String` itself compares by Unicode rules.
    static func inByteOrder(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

import Crypto
import SLS
import System

/// Checks a signed request in SLS's order: the header's form, the date, the body's digest, the key,
/// the signature.
struct SignatureCheck {
    let request: ReceivedRequest
    let body: UnsafeRawBufferPointer
    let now: WallTime
    let skewMax: Duration
    /// The only accepted region; nil accepts any.
    let region: String?

    func pass(_ keys: KeyRing) throws(SLSRefusal) {
        try refuseRepeatedFields()
        guard let authorization = request["authorization"] else {
            throw SLSRefusal(400, "MissAccessKeyId", "Authorization does not exist in http header.")
        }
        let claim = try ClaimedSignature(parsing: authorization)
        switch claim {
        case .v1:
            try checkSignatureMethod("hmac-sha1", required: true)
            try checkDateV1()
            try checkMD5()
        case .v4(_, let day, let region, _):
            try checkSignatureMethod("hmac-sha256", required: false)
            try checkDateV4(day)
            try checkSHA256()
            if let only = self.region, only != region {
                throw .badParameter("The region \(region) is signed for, this one is \(only).")
            }
        }
        let token = request["x-acs-security-token"]
        let key = try keys.key(claim.accessKeyID, token: token, at: now)
        let expected =
            switch claim {
            case .v1: request.signatureV1(secret: key.secret)
            case .v4(_, _, let region, _):
                request.signatureV4(
                    secret: key.secret,
                    region: region,
                    bodyDigest: hex(Digest.sha256(body))
                )
            }
        guard Digest.areEqual(Array(expected.utf8), Array(claim.signature.utf8)) else {
            throw SLSRefusal(401, "SignatureNotMatch", "signature \(claim.signature) not match")
        }
    }

    /// A signature does not fix the order or the joining of repeated fields.
    private func refuseRepeatedFields() throws(SLSRefusal) {
        var seen: Set<String> = []
        for field in request.fields where Self.isSigned(field.name) {
            guard seen.insert(field.name).inserted else {
                throw .badParameter("The header \(field.name) is repeated.")
            }
        }
    }

    private static func isSigned(_ name: String) -> Bool {
        name.hasPrefix("x-log-") || name.hasPrefix("x-acs-")
            || ["authorization", "content-md5", "content-type", "date", "host"].contains(name)
    }

    private func checkSignatureMethod(_ only: String, required: Bool) throws(SLSRefusal) {
        guard let method = request["x-log-signaturemethod"] else {
            guard required else { return }
            throw SLSRefusal(
                400,
                "MissingSignatureMethod",
                "x-log-signaturemethod does not exist in http header."
            )
        }
        guard method == only else {
            throw SLSRefusal(
                400,
                "InvalidSignatureMethod",
                "signature method \(method) is unsupported."
            )
        }
    }

    // MARK: - Dates

    private func checkDateV1() throws(SLSRefusal) {
        guard let text = request.dateV1 else {
            throw SLSRefusal(400, "MissingDate", "Date does not exist in http header.")
        }
        guard let date = SignedDate.reading(text) ?? SignedDate.readingCompact(text) else {
            throw SLSRefusal(
                400,
                "InvalidRequestTime",
                "Request time \(text) not follow RFC822 spec."
            )
        }
        try checkSkew(of: date, text)
    }

    private func checkDateV4(_ day: String) throws(SLSRefusal) {
        guard let text = request["x-log-date"] else {
            throw SLSRefusal(400, "MissingDate", "x-log-date does not exist in http header.")
        }
        guard let date = SignedDate.readingCompact(text) else {
            throw SLSRefusal(
                400,
                "InvalidRequestTime",
                "Request time \(text) is not like 20250114T083000Z."
            )
        }
        guard text.hasPrefix(day) else {
            throw .badParameter("The credential is for \(day), x-log-date is \(text).")
        }
        try checkSkew(of: date, text)
    }

    private func checkSkew(of date: WallTime, _ text: String) throws(SLSRefusal) {
        let apart = Duration.nanoseconds(abs(date.nanoseconds - now.nanoseconds))
        guard apart <= skewMax else {
            throw SLSRefusal(
                400,
                "RequestTimeExpired",
                "Request time \(text) has been expired while server time is "
                    + SignedDate.text(of: now) + "."
            )
        }
    }

    // MARK: - Digests of the body

    private func checkMD5() throws(SLSRefusal) {
        guard let given = request["content-md5"] else {
            guard body.isEmpty else {
                throw SLSRefusal(
                    400,
                    "MissingParameter",
                    "Content-MD5 does not exist in http header when body is not empty."
                )
            }
            return
        }
        let right = hex(Digest.md5(body), upper: true)
        guard Digest.areEqual(Array(given.utf8), Array(right.utf8)) else {
            throw .badParameter("Content-MD5 \(given) is not that of the body, \(right).")
        }
    }

    private func checkSHA256() throws(SLSRefusal) {
        guard let given = request["x-log-content-sha256"] else {
            throw SLSRefusal(
                400,
                "MissingParameter",
                "x-log-content-sha256 does not exist in http header."
            )
        }
        let right = hex(Digest.sha256(body))
        guard Digest.areEqual(Array(given.utf8), Array(right.utf8)) else {
            throw .badParameter("x-log-content-sha256 \(given) is not that of the body, \(right).")
        }
    }
}

import Crypto
import SLS
import System

/// Checks a request in SLS's order: the header's form, date, body digest, key, signature.
struct SignatureCheck {
    let request: ReceivedRequest
    let now: WallTime
    let skewMax: Duration
    /// The only accepted region; nil accepts any.
    let region: String?

    func pass(_ keys: KeyRing) throws(SLSRefusal) {
        try refuseRepeatedFields()
        guard let authorization = request["authorization"] else {
            throw .badRequest("MissAccessKeyId", "Authorization does not exist in http header.")
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
                    bodyDigest: hex(Digest.sha256(request.body))
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
            throw .badRequest(
                "MissingSignatureMethod",
                "x-log-signaturemethod does not exist in http header."
            )
        }
        guard method == only else {
            throw .badRequest(
                "InvalidSignatureMethod",
                "signature method \(method) is unsupported."
            )
        }
    }

    // MARK: - Dates

    private func checkDateV1() throws(SLSRefusal) {
        guard let text = request.dateV1 else {
            throw .badRequest("MissingDate", "Date does not exist in http header.")
        }
        guard let date = SignedDate.reading(text) ?? SignedDate.readingCompact(text) else {
            throw .badRequest("InvalidRequestTime", "Request time \(text) not follow RFC822 spec.")
        }
        try checkSkew(of: date, text)
    }

    private func checkDateV4(_ day: String) throws(SLSRefusal) {
        guard let text = request["x-log-date"] else {
            throw .badRequest("MissingDate", "x-log-date does not exist in http header.")
        }
        guard let date = SignedDate.readingCompact(text) else {
            throw .badRequest(
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
            throw .badRequest(
                "RequestTimeExpired",
                "Request time \(text) has been expired while server time is "
                    + now.httpDate + "."
            )
        }
    }

    // MARK: - Digests of the body

    private func checkMD5() throws(SLSRefusal) {
        guard let given = request["content-md5"] else {
            guard request.body.isEmpty else {
                throw .badRequest(
                    "MissingParameter",
                    "Content-MD5 does not exist in http header when body is not empty."
                )
            }
            return
        }
        let right = hex(Digest.md5(request.body), upper: true)
        guard Digest.areEqual(Array(given.utf8), Array(right.utf8)) else {
            throw .badParameter("Content-MD5 \(given) is not that of the body, \(right).")
        }
    }

    private func checkSHA256() throws(SLSRefusal) {
        guard let given = request["x-log-content-sha256"] else {
            throw .badRequest(
                "MissingParameter",
                "x-log-content-sha256 does not exist in http header."
            )
        }
        let right = hex(Digest.sha256(request.body))
        guard Digest.areEqual(Array(given.utf8), Array(right.utf8)) else {
            throw .badParameter("x-log-content-sha256 \(given) is not that of the body, \(right).")
        }
    }
}

/// The signature that a request's `Authorization` claims.
enum ClaimedSignature: Equatable, Sendable {
    /// `LOG {id}:{signature}`
    case v1(accessKeyID: String, signature: String)
    /// `SLS4-HMAC-SHA256
    /// Credential={id}/{date}/{region}/sls/aliyun_v4_request,Signature={signature}`
    case v4(accessKeyID: String, date: String, region: String, signature: String)

    init(parsing text: String) throws(SLSRefusal) {
        let unreadable = SLSRefusal.badParameter(
            "http extend authorization : \(text) pair is invalid"
        )
        if text.hasPrefix("LOG ") {
            let pair = text.dropFirst(4).split(separator: ":", omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else { throw unreadable }
            self = .v1(accessKeyID: String(pair[0]), signature: String(pair[1]))
        } else if text.hasPrefix("SLS4-HMAC-SHA256 Credential=") {
            let halves = text.dropFirst(28).split(
                separator: ",Signature=",
                omittingEmptySubsequences: false
            )
            guard halves.count == 2 else { throw unreadable }
            let scope = halves[0].split(separator: "/", omittingEmptySubsequences: false)
            guard
                scope.count == 5, scope[3] == "sls", scope[4] == "aliyun_v4_request",
                !scope[0].isEmpty, scope[1].utf8.count == 8, !scope[2].isEmpty, !halves[1].isEmpty
            else { throw unreadable }
            self = .v4(
                accessKeyID: String(scope[0]),
                date: String(scope[1]),
                region: String(scope[2]),
                signature: String(halves[1])
            )
        } else {
            throw unreadable
        }
    }

    var accessKeyID: String {
        switch self {
        case .v1(let id, _), .v4(let id, _, _, _): id
        }
    }

    var signature: String {
        switch self {
        case .v1(_, let signature), .v4(_, _, _, let signature): signature
        }
    }
}

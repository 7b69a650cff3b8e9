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

import SLS

/// Decides from SLS's answer what becomes of a packet, and how far the reason reaches. Everything
/// that it knows is in the tables of `ErrorCode` and `StatusRule`.
enum Judge {
    /// An answer without a request id: a captive portal, a proxy, another server. Even its 200 says
    /// nothing about the packet.
    static let foreign = Rule(.again(.endpoint), .notSLS, .sendServerError)
    static let foreignRemedy =
        "check the endpoint, and what stands between here and SLS (proxy, load balancer)"

    /// For a sequence number that Sluice cannot have used.
    private static let relaneRemedy =
        "the packet goes again in another lane; if this lasts, SLS takes no sequence numbers for this "
        + "logstore: set exactly_once: false for the destination"

    /// `credential` is the one that signed the request. A server may echo it, so its secrets are
    /// taken out of the message before anything but the rule is read from it.
    static func judge(
        _ answer: SLSAnswer,
        _ attempt: Attempt = Attempt(),
        by credential: Credential? = nil
    ) -> Judgement {
        let shown = credential.map(answer.redacted) ?? answer
        if answer.isStored { return .stored(shown) }
        guard answer.requestID != nil else {
            return Judgement(
                shown,
                foreign,
                action: foreign.action,
                message: "the answer with HTTP status \(answer.status) has no x-log-requestid: it "
                    + "is not from SLS",
                remedy: foreignRemedy
            )
        }
        let known = answer.errorCode.flatMap(ErrorCode.known)
        let byStatus = StatusRule.table.first { $0.fits(answer) }
        let rule = known?.rule ?? byStatus?.rule ?? foreign
        let action = action(of: rule, answer, attempt)
        let message = shown.errorMessage ?? known?.meaning ?? "HTTP status \(answer.status)"
        return Judgement(
            shown,
            rule,
            action: action,
            message: message,
            remedy: action == .relane
                ? relaneRemedy : known?.remedy ?? byStatus?.remedy ?? foreignRemedy
        )
    }

    /// `isTaken` tells whether curl took something of the body. curl sends again by itself when a
    /// reused connection closes without an answer, so even after a failed connect the body may have
    /// arrived, on the connection before.
    static func judge(
        _ problem: TransportProblem,
        isTaken: Bool = false,
        by credential: Credential? = nil
    ) -> Judgement {
        let message = credential?.redacted(problem.message) ?? problem.message
        return Judgement(problem, message: message, isTaken: isTaken)
    }

    private static func action(
        of rule: Rule,
        _ answer: SLSAnswer,
        _ attempt: Attempt
    ) -> Judgement.Action {
        switch rule.action {
        case .pause(.logstore) where isAboutCredential(answer): .pause(.project)
        case .relane where !attempt.hasLane: .suspect
        case .relane where attempt.mayBeStored: .acknowledge
        case let action: action
        }
    }

    /// SLS says `Unauthorized` for a key that is refused everywhere and for a permission that is
    /// missing on one logstore; only its words tell which.
    private static func isAboutCredential(_ answer: SLSAnswer) -> Bool {
        guard answer.errorCode == "Unauthorized", let message = answer.errorMessage?.lowercased()
        else { return false }
        // Names the resource, which may contain any word.
        if message.contains("denied by") { return false }
        return ["token", "accesskey", "access key", "does not belong"].contains(
            where: message.contains
        )
    }
}

extension Judgement {
    fileprivate static func stored(_ answer: SLSAnswer) -> Judgement {
        Judgement(
            action: .acknowledge,
            kind: .other,
            result: .ok,
            status: answer.status,
            message: "stored",
            requestID: answer.requestID,
            remedy: "none needed",
            traits: .answered,
            time: answer.time,
            countedAs: answer.countedAs
        )
    }

    fileprivate init(
        _ answer: SLSAnswer,
        _ rule: Rule,
        action: Action,
        message: String,
        remedy: String
    ) {
        self.init(
            action: action,
            kind: rule.kind,
            result: action == .acknowledge ? .ok : rule.result,
            status: answer.status,
            code: answer.errorCode,
            message: message,
            requestID: answer.requestID,
            remedy: remedy,
            retryAfter: answer.retryAfter,
            isOutcomeUnknown: answer.requestID == nil || answer.status >= 500,
            traits: Traits(answer, rule, message),
            quota: Self.quota(named: message),
            time: answer.time,
            countedAs: answer.countedAs
        )
    }

    /// Only SLS's words tell what a quota counts (`Inflow Quota Exceed`, `Write QPS Exceed`).
    private static func quota(named message: String) -> Quota {
        let words = message.lowercased()
        if words.contains("inflow") { return .bytes }
        return words.contains("qps") ? .requests : .unknown
    }
}

extension Judgement.Traits {
    fileprivate init(_ answer: SLSAnswer, _ rule: Rule, _ message: String) {
        self = answer.requestID == nil ? [] : .answered
        let code = answer.errorCode ?? ""
        if ErrorCode.known(code) == nil { insert(.unknownCode) }
        if answer.status == 413 || code == "PostBodyTooLarge" { insert(.ofSize) }
        if ["PostBodyInvalid", "InvalidTimestamp", "ParameterInvalid"].contains(code) {
            insert(.mayBeOfTime)
        }
        if rule.result == .sendUnauthorized, !Self.isAboutExpiry(code, message.lowercased()) {
            insert(.deniesRights)
        }
    }

    private static func isAboutExpiry(_ code: String, _ words: String) -> Bool {
        code.contains("TokenExpired") || code == "SecurityToken.Expired"
            || words.contains("token") && words.contains("expired")
    }
}

import SLS

/// Decides from SLS's answer what becomes of a packet, and how far the reason reaches. Everything
/// that it knows is in its table.
enum Judge {
    /// `credential` is the one that signed the request: a server may echo it, so its secrets are
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
                action: .again(.endpoint),
                message: "the answer with HTTP status \(answer.status) has no x-log-requestid: it "
                    + "is not from SLS",
                remedy: foreignRemedy
            )
        }
        let known = answer.errorCode.flatMap(ErrorCode.known)
        let byStatus = byStatus.first { $0.fits(answer) }
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

    /// `isTaken` tells whether curl took something of the body. Then an earlier connection may have
    /// carried it, though the last one was never made: curl repeats by itself what broke without a
    /// word.
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
        switch rule.plan {
        case .again(let scope): .again(scope)
        case .slowDown(let scope): .slowDown(scope)
        case .pause(.logstore) where isAboutCredential(answer): .pause(.project)
        case .pause(let scope): .pause(scope)
        case .resign: .resign
        case .split: .split
        case .suspect: .suspect
        case .sequence:
            if !attempt.hasLane { .suspect } else { attempt.mayBeStored ? .acknowledge : .relane }
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

    /// For answers with a request id and an unknown code, or none. The first row that fits.
    static let byStatus: [Rule.ByStatus] = [
        // The one status that is about the credential. Where it is about one logstore all the same,
        // the destination notices when other logstores store packets.
        .init(
            401...401,
            .unauthorized,
            "check the credential and its permission to write to this logstore"
        ),
        .init(
            403...403,
            .quota,
            "look the code up in the documentation of SLS; it may be a quota to raise",
            saying: "quota",
            "exceed"
        ),
        // A refusal for a reason of one logstore must not slow down the whole project.
        .init(
            403...403,
            Rule(.pause(.logstore), .other, .sendQuotaError),
            "look the code up in the documentation of SLS; it may be a permission or an access rule"
        ),
        .init(404...404, .noLogstore, "check endpoint, project and logstore"),
        .init(
            405...405,
            Rule(.suspect, .request, .parametersInvalid),
            "check the endpoint, and that nothing on the way changes requests"
        ),
        .init(413...413, .content, "lower packet.bytes of the destination"),
        .init(
            429...429,
            Rule(.slowDown(.logstore), .quota, .sendDiscardError),
            "none needed unless it lasts"
        ),
        .init(500...599, .server, "none needed unless it lasts"),
        .init(
            300...399,
            Rule(.pause(.project), .request, .sendDiscardError),
            "set the endpoint that the redirection leads to; Sluice follows none"
        ),
        .init(400...499, .suspect, "look the code up in the documentation of SLS"),
        .init(
            0...999,
            Rule(.again(.endpoint), .other, .sendDiscardError),
            "check the endpoint: SLS answers a write with 200 or an error"
        ),
    ]

    /// An answer without a request id: a captive portal, a proxy, another server. Even its 200 says
    /// nothing about the packet.
    static let foreign = Rule(.again(.endpoint), .notSLS, .sendServerError)

    static let foreignRemedy =
        "check the endpoint, and what stands between here and SLS (proxy, load balancer)"

    /// For a sequence number that Sluice cannot have used.
    static let relaneRemedy =
        "the packet goes again in another lane; if this lasts, SLS takes no sequence numbers for this "
        + "logstore: set exactly_once: false for the destination"

    static let transport = Rule(.again(.endpoint), .network, .sendNetworkError)

    /// What the answer to a proof tells about the credential. SLS looks at the signature before
    /// anything else, so any refusal for another reason accepts it.
    static func verdict(
        _ judgement: Judgement,
        _ isRealLogstore: Bool
    ) -> CredentialProof.Verdict {
        switch judgement.kind {
        // A credential that may not write to a logstore that does not exist may write to the
        // others, or to none.
        case .unauthorized where !isRealLogstore && judgement.action == .pause(.logstore):
            .undecided
        case .unauthorized: .refused
        case .content, .sequence, .suspended: .accepted
        // A 403 with an unknown code counts as a quota, and may mean anything.
        case .quota: judgement.code.flatMap(ErrorCode.known) == nil ? .undecided : .accepted
        case .notFound:
            judgement.code?.lowercased().hasPrefix("logstore") == true ? .accepted : .undecided
        case .other: judgement.action == .acknowledge ? .accepted : .undecided
        case .network, .notSLS, .server, .clock, .request, .queue, .write: .undecided
        }
    }
}

extension Judgement {
    /// For a request without an answer. `isTaken` tells whether curl took something of the body,
    /// which may have arrived.
    init(_ problem: TransportProblem, message: String, isTaken: Bool) {
        self.init(
            action: .again(problem.scope),
            kind: Judge.transport.kind,
            result: Judge.transport.result,
            code: problem.code,
            message: message,
            remedy: problem.remedy,
            isOutcomeUnknown: isTaken || !problem.isSurelyUnsent
        )
    }

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

/// A row of the judge's table.
struct Rule: Equatable {
    enum Plan: Equatable {
        case again(GateScope)
        case slowDown(GateScope)
        case pause(GateScope)
        case resign
        case split
        case suspect
        case sequence
    }

    let plan: Plan
    let kind: DeliveryFailure.Kind
    let result: ProducerResult

    init(_ plan: Plan, _ kind: DeliveryFailure.Kind, _ result: ProducerResult) {
        self.plan = plan
        self.kind = kind
        self.result = result
    }

    static let content = Rule(.split, .content, .sendDiscardError)
    static let suspect = Rule(.suspect, .request, .sendDiscardError)
    static let unauthorized = Rule(.pause(.project), .unauthorized, .sendUnauthorized)
    static let quota = Rule(.slowDown(.quota), .quota, .sendQuotaError)
    static let noLogstore = Rule(.pause(.logstore), .notFound, .sendUnauthorized)
    static let server = Rule(.again(.endpoint), .server, .sendServerError)

    /// For answers of SLS with an unknown code.
    struct ByStatus {
        let rule: Rule
        let statuses: ClosedRange<Int>
        let remedy: String
        /// One of these has to be in the code or the message; when there are none, any will do.
        let words: [String]

        init(
            _ statuses: ClosedRange<Int>,
            _ rule: Rule,
            _ remedy: String,
            saying words: String...
        ) {
            self.statuses = statuses
            self.rule = rule
            self.remedy = remedy
            self.words = words
        }

        func fits(_ answer: SLSAnswer) -> Bool {
            guard statuses.contains(answer.status) else { return false }
            if words.isEmpty { return true }
            let said = [answer.errorCode, answer.errorMessage].compactMap { $0?.lowercased() }
            return words.contains { word in said.contains { $0.contains(word) } }
        }
    }
}

import SLS

extension Judgement {
    /// Codes that refuse a packet for its size, which a smaller packet cures.
    private static let codesOfSize: Set = ["PostBodyTooLarge"]

    /// SLS refuses the content of the packet. A proxy on the way may have changed it.
    var isOfContent: Bool {
        action == .split && status != 413 && !(code.map(Self.codesOfSize.contains) ?? false)
    }

    /// The same where SLS refuses everything: no single log is at fault, but something that all of them pass.
    var doubtedAsAll: Judgement {
        var judgement = self
        judgement.action = .suspect
        judgement.remedy =
            "everything that is sent to this logstore is refused, so no log is given up for now: look for what "
            + "changes requests on the way (a proxy), and at the applications and clocks of the devices; if the "
            + "logs are bad indeed, sluice resume DESTINATION has the next ones taken apart"
        return judgement
    }

    /// SLS refuses the credential itself, wherever it is used.
    var isOfCredential: Bool { kind == .unauthorized && action == .pause(.project) }

    /// SLS refuses the credential with a code that the table does not have.
    var isOfUnknownUnauthorized: Bool {
        isOfCredential && code.flatMap(ErrorCode.known) == nil
    }

    /// Whether SLS knows who asks and denies it to him, or what is written to is not there. Whose token has
    /// expired is denied nothing: another token is what is missing.
    var deniesRights: Bool {
        guard result == .sendUnauthorized else { return false }
        let words = message.lowercased()
        return !(code?.contains("TokenExpired") ?? false) && code != "SecurityToken.Expired"
            && !(words.contains("token") && words.contains("expired"))
    }
}

package import SLS

/// Delivery's way to whoever keeps the credentials. All of it is called on the delivery thread, so it must not
/// wait.
package struct CredentialDoor: Sendable {
    /// The credential of a name as it is now, or nil while there is none; asked for before each packet.
    package var credential: @Sendable (String) -> Credential?
    /// Why there is none, where that is known.
    package var absence: @Sendable (String) -> String? = { _ in nil }
    /// SLS refused it, or took it again after that.
    package var refused: @Sendable (String, Credential) -> Void = { _, _ in }
    package var accepted: @Sendable (String) -> Void = { _ in }

    package init(_ credential: @escaping @Sendable (String) -> Credential?) {
        self.credential = credential
    }
}

extension Destination {
    /// Tells what the answer says of the credential, each time that it changes.
    func tellVerdict(_ judgement: Judgement, on credential: Credential) {
        if judgement.kind == .unauthorized, judgement.action == .pause(.project) {
            guard refused != credential else { return }
            refused = credential
            surroundings.credentials.refused(settings.credential, credential)
        } else if judgement.action == .acknowledge, refused != nil {
            refused = nil
            surroundings.credentials.accepted(settings.credential)
        }
    }
}

package import SLS

/// Delivery's door to the keeper of the credentials. All of it is called on the delivery thread, so it must not
/// wait.
package struct CredentialDoor: Sendable {
    /// The credential of a name as it is now, or nil while there is none; asked for before each packet.
    package var credential: @Sendable (String) -> Credential?
    /// Why there is no credential of a name, where that is known.
    package var absence: @Sendable (String) -> String? = { _ in nil }
    /// SLS refused it, or took it again after that.
    package var refused: @Sendable (String, Credential) -> Void = { _, _ in }
    package var accepted: @Sendable (String) -> Void = { _ in }

    package init(_ credential: @escaping @Sendable (String) -> Credential?) {
        self.credential = credential
    }
}

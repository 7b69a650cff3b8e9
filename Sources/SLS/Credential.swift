/// An AccessKey, or an STS triple.
package struct Credential: Sendable, Equatable {
    package let accessKeyID: String
    package let secret: Secret
    package let securityToken: Secret?

    package init(accessKeyID: String, secret: Secret, securityToken: Secret? = nil) {
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.securityToken = securityToken
    }
}

/// A text that must not be seen: printing it shows dots.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// For signing only.
    package var revealed: String { text }

    package var description: String { "•••" }
    package var debugDescription: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

package import SLS

/// A key that devices show, under the name that the operator gave it.
package struct DeviceKey: Sendable, Equatable {
    package static let secretBytes = 16...256
    package static let keysMax = 1000

    /// What metrics and messages call it.
    package var name: String
    package var secret: Secret
    package var rules: SenderRules

    package init(name: String, secret: Secret, _ rules: SenderRules = SenderRules()) {
        self.name = name
        self.secret = secret
        self.rules = rules
    }
}

package import Configuration
package import Crypto
import System

/// The admin tokens in use. A reload replaces them.
package struct AdminTokens: Sendable {
    private let keys: Locked<AdminKeys>
    /// The generated main token, used while the operator configures none.
    private let generated: Secret

    /// `main` is the configured main token, or the generated one.
    package init(main: Secret, _ settings: AdminSettings) {
        generated = main
        keys = Locked(AdminKeys(main: main, named: settings.tokens))
    }

    /// Whose token an `Authorization` field shows; nil when the token is unknown.
    package func holder(of authorization: ArraySlice<UInt8>) -> AdminHolder? {
        keys.withLock { $0 }.holder(of: authorization)
    }

    /// Takes over a reload's tokens, and returns which holders remain.
    func use(_ settings: AdminSettings) -> (AdminHolder) -> Bool {
        let new = AdminKeys(main: settings.token ?? generated, named: settings.tokens)
        keys.withLock { $0 = new }
        return new.know
    }
}

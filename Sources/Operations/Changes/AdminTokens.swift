package import Configuration
package import Crypto
import System

/// The admin tokens in use. A reload replaces them.
package struct AdminTokens: Sendable {
    private let keys: Locked<AdminKeys>
    /// The main token of the start, used after a reload that configures none.
    private let mainAtStart: Secret

    /// `main` is the configured main token, or the generated one.
    package init(main: Secret, _ settings: AdminSettings) {
        mainAtStart = main
        keys = Locked(AdminKeys(main: main, named: settings.tokens))
    }

    /// Whose token an `Authorization` field shows; nil when the token is unknown.
    package func holder(of authorization: ArraySlice<UInt8>) -> AdminHolder? {
        keys.withLock { $0 }.holder(of: authorization)
    }

    /// Whether the holder's token still exists, with the same role.
    package func knows(_ holder: AdminHolder) -> Bool { keys.withLock { $0 }.know(holder) }

    /// Takes over a reload's tokens, and returns which holders remain.
    func use(_ settings: AdminSettings) -> (AdminHolder) -> Bool {
        let new = AdminKeys(main: settings.token ?? mainAtStart, named: settings.tokens)
        keys.withLock { $0 = new }
        return new.know
    }
}

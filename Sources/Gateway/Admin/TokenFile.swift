import Glibc
package import SLS
import System

/// The token that the gateway makes for itself when the operator gives none: kept in the data
/// directory, readable by the owner only, the same after a restart.
package struct TokenFile: Sendable {
    package let path: String

    package init(dataDirectory: String) {
        path = "\(dataDirectory)/admin-token"
    }

    /// Reads the token, or makes one.
    package func token() throws(StartProblem) -> Secret {
        if let kept = try kept() { return kept }
        let secret = hex(randomBytes(32))
        do throws(SystemError) {
            let file = OwnedDescriptor(
                taking: try system("open") {
                    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
                }
            )
            let line = Array((secret + "\n").utf8)
            _ = try system("write") { write(file.number, line, line.count) }
            _ = try system("fsync") { fsync(file.number) }
        } catch {
            throw StartProblem(
                "the admin token cannot be kept in \(path) (\(error)): make the directory writable, "
                    + "or give a token of your own with SLUICE_ADMIN_TOKEN_FILE"
            )
        }
        return Secret(secret)
    }

    private func kept() throws(StartProblem) -> Secret? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let text = (try? fileContent(path, bytesMax: 4096)).flatMap {
            String(validating: $0, as: UTF8.self)
        }
        let token = text?.split(whereSeparator: \.isWhitespace).first ?? ""
        guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0,
            token.utf8.count >= AdminToken.bytesMin
        else {
            throw StartProblem(
                "\(path) is not a token that only its owner can read: "
                    + "remove it to get a new one, or chmod 600 it"
            )
        }
        return Secret(String(token))
    }
}

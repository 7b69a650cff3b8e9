import Configuration
package import Crypto
import Glibc
package import System

/// The token that the gateway generates if the configuration has none. It is a file in the data
/// directory that only its owner can read, so it stays the same after a restart.
package struct TokenFile: Sendable {
    package let path: String

    private let directory: String
    private let journal: Journal

    package init(dataDirectory: String, journal: Journal) {
        path = "\(dataDirectory)/admin-token"
        directory = dataDirectory
        self.journal = journal
    }

    /// Reads the token, or generates one.
    package func token() throws(StartProblem) -> Secret {
        if let kept = try kept() { return kept }
        let secret = hex(randomBytes(32))
        do throws(SystemError) {
            try replaceFile(path, with: Array((secret + "\n").utf8))
        } catch {
            let remedy = error.code == EIO ? "check the disk" : "make the directory writable"
            throw StartProblem(
                "the admin token cannot be written to \(path) (\(error)): \(remedy), "
                    + "or set your own token with SLUICE_ADMIN_TOKEN_FILE"
            )
        }
        return Secret(secret)
    }

    /// nil if the file is missing or its content is no token.
    private func kept() throws(StartProblem) -> Secret? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StartProblem("\(path) is not a regular file: remove it to get a new token")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw StartProblem(
                "\(path) is accessible to other users: chmod 600 it, or remove it to get a new token"
            )
        }
        let content: [UInt8]
        do throws(FileProblem) {
            content = try fileContent(path, bytesMax: 4096)
        } catch {
            throw StartProblem(
                "\(path) cannot be read: \(error.reason); remove it to get a new token"
            )
        }
        let text = String(validating: content, as: UTF8.self)
        let token = text?.split(whereSeparator: \.isWhitespace).first ?? ""
        guard token.utf8.count >= AdminToken.bytesMin else {
            journal.warning(
                "the admin token file is incomplete; writing a new token",
                ["path": path, "characters_min": AdminToken.bytesMin]
            )
            return nil
        }
        return Secret(String(token))
    }
}

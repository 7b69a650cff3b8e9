import Foundation
import TestSupport

/// Secrets that must be found nowhere, in no spelling that a program might write them in.
final class Canaries {
    private var secrets: [String] = []
    private let scratch: TemporaryDirectory

    init(in scratch: TemporaryDirectory) {
        self.scratch = scratch
    }

    /// One more, different from all others; long enough to be found by no accident.
    func secret(_ place: String) -> String {
        let noise = (0..<3).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 36) }
        return planted("canary-\(place)-\(noise.joined())")
    }

    func planted(_ secret: String) -> String {
        secrets.append(secret)
        return secret
    }

    /// Lines of "file:secret" for what is found in files and directories under the scratch
    /// directory.
    func found(in places: [String], butNotIn exception: String = "none") throws -> String {
        let list = scratch.file(
            "patterns",
            secrets.flatMap(Self.spellings).joined(separator: "\n") + "\n"
        )
        let words = ["grep", "-r", "-a", "-o", "-F", "-f", list, "--exclude=\(exception)"]
        let grep = try ChildProcess(
            words + places.map { "\(scratch.path)/\($0)" },
            output: .pipe
        )
        let found = grep.output?.readAll() ?? ""
        // 1: nothing was found; 2: it could not look.
        guard (0...1).contains(grep.wait()) else { return "grep failed" }
        return found
    }

    /// As it is, percent-encoded, in hex, and in base64 wherever it begins.
    private static func spellings(_ secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let base64 = (0..<3).map { offset in
            let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            // What stands at the ends depends on the neighbours.
            return String(text.dropFirst(4).dropLast(4))
        }
        return [secret, encoded ?? secret, hex, hex.uppercased()] + base64
    }
}

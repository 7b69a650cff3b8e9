import System

/// Replaces `${NAME}`, `${NAME:-default}` and `${file:/path}` in a setting's text. `$${` stands for
/// `${` itself. What comes in is not looked at again.
struct Substitution {
    let environment: [String: String]

    func apply(to text: String) throws(Mismatch) -> String {
        var result = ""
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                result += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let end = rest.firstIndex(of: "}") else {
                    throw Mismatch(
                        "${ is never closed; write $${ for the two characters themselves"
                    )
                }
                result += try value(of: rest[rest.index(dollar, offsetBy: 2)..<end])
                rest = rest[rest.index(after: end)...]
            } else {
                result += "$"
                rest = rest.dropFirst()
            }
        }
        return result + rest
    }

    private func value(of reference: Substring) throws(Mismatch) -> String {
        if reference.hasPrefix("file:") {
            return try content(of: String(reference.dropFirst(5)))
        }
        var name = reference
        var fallback: Substring?
        if let mark = reference.firstRange(of: ":-") {
            name = reference[..<mark.lowerBound]
            fallback = reference[mark.upperBound...]
        }
        guard isName(name) else {
            // What stands there may be a secret in the wrong place, so it is not repeated.
            throw Mismatch(
                "what ${...} holds is not understood; write ${NAME}, ${NAME:-default} or ${file:/path}"
            )
        }
        if let value = environment[String(name)], !(value.isEmpty && fallback != nil) {
            return value
        }
        guard let fallback else {
            throw Mismatch(
                "the environment has no \(name); set it, or give a default as in ${\(name):-value}"
            )
        }
        return String(fallback)
    }

    private func content(of path: String) throws(Mismatch) -> String {
        do throws(FileProblem) {
            var bytes = try fileContent(path, bytesMax: 64 << 10, waits: false)
            // Editors and `echo` end a file with a newline that is no part of a secret.
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw FileProblem(
                    reason: "not UTF-8 text; write what is binary as base64 or hexadecimal digits"
                )
            }
            return text
        } catch {
            throw Mismatch("${file:\(path)} cannot be read: \(error.reason)")
        }
    }

    private func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return false }
        return text.isOfLetters(and: "_")
    }
}

import System

/// What a configuration is read from. Flag beats environment beats file.
package struct ConfigurationInputs: Sendable {
    /// The file that `--config` names; without it `SLUICE_CONFIG` may name one.
    package var file: String?
    /// Options that stand for settings, with their dashes: "--listen" to "127.0.0.1:8080".
    package var options: [String: String]
    package var environment: [String: String]
    /// A sandbox takes the place of SLS: keys and endpoints are not needed.
    package var isSandboxed: Bool
    /// The file as it was at some time; absent, it is read.
    var content: [UInt8]?
    /// Decided settings by destination. They beat everything else.
    package var decided: [String: DecidedSettings] = [:]
    /// False: certificate files are not opened. A renewal may be replacing them, and the caller may
    /// have no right to read keys.
    package var readsCertificates = true
    /// Whether reading waits for the writer of a pipe: at the start only, because a reload may find
    /// none.
    var waitsForFile = true

    package init(
        file: String? = nil,
        options: [String: String] = [:],
        environment: [String: String] = [:],
        isSandboxed: Bool = false
    ) {
        self.file = file
        self.options = options
        self.environment = environment
        self.isSandboxed = isSandboxed
    }

    package var path: String? { file ?? variable("SLUICE_CONFIG") }

    /// An empty variable is as good as none: compose files and manifests pass those along.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What beats the file for a setting.
    func override(_ source: Override) -> (place: ConfigurationProblem.Place, text: String)? {
        if let option = source.option, let text = options[option] { return (.option(option), text) }
        if let name = source.variable, let text = variable(name) {
            return (.environment(name), text)
        }
        return nil
    }
}

/// The option and the environment variable that beat the file for a setting.
package struct Override: Sendable {
    var option: String?
    var variable: String?

    static let none = Override()
}

/// Replaces `${NAME}`, `${NAME:-default}` and `${file:/path}` once; `$${` stands for `${` itself.
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

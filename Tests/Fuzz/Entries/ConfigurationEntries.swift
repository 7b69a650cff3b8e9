@testable import Configuration

/// Configuration files.
enum ConfigurationEntry: FuzzEntry {
    static let name = "yaml"

    private static let secret = "canary-0123456789abcdef0123456789abcdef"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let lines = bytes.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } + 1
        do throws(YAMLError) {
            _ = try YAMLDocument.read(bytes)
        } catch {
            // Unicode has line ends of its own, each of several bytes.
            try check(1...lines + 1 + bytes.count / 2 ~= error.line, "no line \(error.line)")
            try check(!error.reason.isEmpty, "no reason")
        }
        let readings = (0..<2).map { _ in read(bytes) }
        try check(readings[0] == readings[1], "one file, two configurations")
        guard case .failure(let problems) = readings[0] else { return }
        try check(!problems.problems.isEmpty, "refused for nothing")
        let text = problems.description
        let isGiven = String(decoding: bytes, as: UTF8.self).contains("canary")
        try check(isGiven || !text.contains("canary"), "a secret is told: \(text)")
    }

    private static func read(
        _ bytes: [UInt8]
    ) -> Result<GatewayConfiguration, ConfigurationProblems> {
        var inputs = ConfigurationInputs(file: "sluice.yaml", environment: ["SECRET": secret])
        inputs.content = bytes
        // Files of this machine are no part of the input.
        inputs.readsCertificates = false
        return Result { () throws(ConfigurationProblems) in
            try GatewayConfiguration.read(inputs)
        }
    }
}

/// An operator's changes of a destination at run time, as JSON.
enum SettingsEntry: FuzzEntry {
    static let name = "settings"

    private static let file = """
        destinations:
          app:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: my-project
            logstore: "*"
            packet: { bytes: 512KiB, logs: 100, age: 2s }
        credentials:
          default: { from: static, access_key_id: x, access_key_secret: y }
        """

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let decided = try? DecidedSettings(json: bytes) else { return }
        // They are stored as JSON, and read at the next start.
        let stored = decided.json
        guard let again = try? DecidedSettings(json: Array(stored.utf8)) else {
            throw Contradiction(description: "what was stored cannot be read: \(stored)")
        }
        try check(again.json == stored, "stored \(stored), read \(again.json)")
        var inputs = ConfigurationInputs(file: "sluice.yaml")
        inputs.content = Array(file.utf8)
        inputs.decided = ["app": decided]
        inputs.readsCertificates = false
        do throws(ConfigurationProblems) {
            _ = try GatewayConfiguration.read(inputs)
        } catch {
            try check(!error.problems.isEmpty, "refused for nothing")
        }
    }
}

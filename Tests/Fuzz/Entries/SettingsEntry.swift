@testable import Configuration

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

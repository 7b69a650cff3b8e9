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
    /// What operators decided of destinations while the gateway ran, by name. It beats everything
    /// else.
    package var decided: [String: DecidedSettings] = [:]
    /// Whether certificate files are opened. Questions about other settings do not open them: a
    /// renewal may be replacing them, and the caller may have no right to read keys.
    package var readsCertificates = true
    /// The file may be a pipe at the start. Later nobody may be there to write to it.
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

import System

/// Reads the configuration with what was decided of destinations: the file as it is now, or as it was when that was
/// asked for last.
package typealias ConfigurationReading =
    @Sendable (
        _ decided: [String: DecidedSettings], _ anew: Bool
    ) throws(ConfigurationProblems) -> GatewayConfiguration

/// Reads the configuration again and again, with the file as it was when it was last asked for anew: a file that
/// somebody is editing concerns nobody before SIGHUP.
package struct ConfigurationReader: Sendable {
    private let inputs: ConfigurationInputs
    private let content = Locked<[UInt8]?>(nil)

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
    }

    package func read(
        _ decided: [String: DecidedSettings],
        anew: Bool
    ) throws(ConfigurationProblems) -> GatewayConfiguration {
        var inputs = inputs
        inputs.decided = decided
        inputs.readsCertificates = anew
        inputs.content = anew ? nil : content.withLock { $0 }
        if inputs.content == nil, let path = inputs.path {
            // A file that cannot be read tells so when the configuration is read from it.
            inputs.content = try? fileContent(path, bytesMax: YAMLLimits().bytes)
        }
        let read = try GatewayConfiguration.read(inputs)
        let used = inputs.content
        content.withLock { $0 = used }
        return read
    }
}

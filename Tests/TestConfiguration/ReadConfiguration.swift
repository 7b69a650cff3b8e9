package import Configuration
import TestSupport

/// The shortest configuration that can be read.
package let minimal =
    "destinations: {app: {endpoint: https://cn-hangzhou.log.aliyuncs.com, project: my-project, "
    + "logstore: app-log}}\n"

/// An environment with an AccessKey.
package let testKeys = [
    "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
]

/// Reads the text as a configuration file.
package func read(
    _ text: String,
    _ environment: [String: String] = testKeys
) throws -> GatewayConfiguration {
    let directory = TemporaryDirectory()
    return try GatewayConfiguration.read(
        .init(file: directory.file("sluice.yaml", text), environment: environment)
    )
}

/// What is wrong with the text as a configuration file: "sluice.yaml:2: listen: …".
package func problems(
    _ text: String,
    _ environment: [String: String] = testKeys
) -> [String] {
    let directory = TemporaryDirectory()
    let file = directory.file("sluice.yaml", text)
    return problems(ConfigurationInputs(file: file, environment: environment))
        .map { $0.replacing("\(directory.path)/", with: "") }
}

package func problems(_ inputs: ConfigurationInputs) -> [String] {
    do {
        _ = try GatewayConfiguration.read(inputs)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

/// All that is shown of a configuration, in one text.
package func everythingShown(of configuration: GatewayConfiguration) -> String {
    var dumped = ""
    dump(configuration, to: &dumped)
    return dumped + "\(configuration) \(configuration.effective)"
        + ConfigurationSummary.text(configuration)
}

extension [String] {
    /// True for as many texts as starts, each with its start. Tests of messages need no more.
    package func begin(with starts: [String]) -> Bool {
        count == starts.count && zip(self, starts).allSatisfy { $0.hasPrefix($1) }
    }
}

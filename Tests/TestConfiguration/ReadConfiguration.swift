package import Configuration
import TestSupport

/// The shortest configuration that can be read.
package let minimal =
    "destinations: {app: {endpoint: https://cn-hangzhou.log.aliyuncs.com, project: my-project, "
    + "logstore: app-log}}\n"

/// Reads the text as a configuration file.
package func read(_ text: String, _ environment: [String: String]) throws -> GatewayConfiguration {
    let directory = TemporaryDirectory()
    return try GatewayConfiguration.read(
        .init(file: directory.file("sluice.yaml", text), environment: environment)
    )
}

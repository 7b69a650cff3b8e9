package import Configuration

/// The programs behind `sluice serve`, `sluice sandbox` and `sluice help metrics`. They are passed in, so that the command line does not link
/// the server.
package struct ServerPrograms: Sendable {
    package struct Sandbox: Sendable {
        package let listen: String?
        package let storage: String?
        package let environment: [String: String]
    }

    let serve: @Sendable (ConfigurationInputs) -> CInt
    let sandbox: @Sendable (Sandbox) -> CInt
    let helpOnMetrics: @Sendable (_ asMarkdown: Bool) -> String

    package init(
        serve: @escaping @Sendable (ConfigurationInputs) -> CInt,
        sandbox: @escaping @Sendable (Sandbox) -> CInt,
        helpOnMetrics: @escaping @Sendable (_ asMarkdown: Bool) -> String
    ) {
        self.serve = serve
        self.sandbox = sandbox
        self.helpOnMetrics = helpOnMetrics
    }
}

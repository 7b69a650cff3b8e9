package import Configuration
import System

/// `sluice route --config`: tests the filters and routes of a configuration file.
package struct OfflineRouteTest {
    /// Answers the body of `POST /admin/routes/test`, or says what is wrong with it.
    package typealias Program =
        @Sendable (_ body: [UInt8], GatewayConfiguration) -> (isFine: Bool, text: String)

    private var inputs: ConfigurationInputs
    private let test: Program

    init(_ inputs: ConfigurationInputs, _ test: @escaping Program) {
        self.inputs = inputs
        // Rules can be tested without the keys of their destinations.
        self.inputs.isSandboxed = true
        self.test = test
    }

    func run(_ request: AdminRequest) -> CInt {
        guard let configuration = configured(try GatewayConfiguration.read(inputs)) else {
            return ExitCode.wrong
        }
        let answer = test(request.body ?? [], configuration)
        guard answer.isFine else {
            Terminal.complain(TerminalText.sentence(answer.text))
            return ExitCode.failed
        }
        let json = Array(answer.text.utf8)
        Terminal.say(bytes: request.shown.map { Array($0(json, 0).utf8) } ?? json)
        return ExitCode.fine
    }
}

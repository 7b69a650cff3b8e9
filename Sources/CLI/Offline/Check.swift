package import Configuration
import System

/// `sluice check`: reads the configuration and prints a summary or its errors.
package struct Check: Sendable {
    private let inputs: ConfigurationInputs

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
    }

    package func run() -> CInt {
        do throws(ConfigurationProblems) {
            Terminal.say(ConfigurationSummary.text(try .read(inputs)))
            return ExitCode.fine
        } catch {
            Terminal.complain(error.description)
            return ExitCode.wrong
        }
    }
}

/// A gateway in a process of its own that sends to a sandbox in another.
final class RunningGateway {
    let scratch = ScratchDirectory()
    let sandbox: RunningSandbox
    let program: Program
    let listeners: Listeners

    /// `more` goes on where the configuration of the destination `app` ends.
    init(_ more: String = "") throws {
        sandbox = try RunningSandbox()
        let file = try scratch.write(
            sandbox.configuration(dataDirectory: "\(scratch.path)/data") + more,
            to: "sluice.yaml"
        )
        program = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        guard let listeners = program.listeners() else {
            throw ProgramDidNotStart(complaints: program.errors.lines)
        }
        self.listeners = listeners
    }

    var operatorEnd: OperatorEnd {
        OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")
    }
}

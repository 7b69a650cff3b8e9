import TestSupport

/// A gateway in a process of its own that sends to a sandbox in another.
final class RunningGateway {
    let scratch = TemporaryDirectory()
    let file: String
    let sandbox: RunningSandbox
    let program: Program
    let listeners: Listeners

    /// `more` goes on where the configuration of the destination `app` ends, `admin` in the group
    /// of that name.
    init(_ more: String = "", admin: String = "") throws {
        sandbox = try RunningSandbox()
        let text = sandbox.configuration(dataDirectory: "\(scratch.path)/data") + more
        file = scratch.file("sluice.yaml", text.replacing("admin: { ", with: "admin: { \(admin)"))
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

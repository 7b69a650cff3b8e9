package import Configuration
import Glibc
import System

/// `sluice tail`: prints logs as the gateway accepts them, until it is interrupted, its output is
/// closed, or the limit is reached. After the first connection, it waits for a gateway that goes
/// away.
package struct TailCommand {
    private let inputs: ConfigurationInputs
    private let display: TailDisplay
    private var pause = Self.pauseMin
    private var hasBegun = false

    private static let pauseMin: Duration = .milliseconds(500)
    private static let pauseMax: Duration = .seconds(15)

    package init(_ inputs: ConfigurationInputs, isJSON: Bool, limit: Int?) {
        self.inputs = inputs
        display = TailDisplay(isJSON: isJSON, limit: limit)
    }

    package mutating func run(_ request: AdminRequest) -> CInt {
        // The end of a pipe is noticed by a failed write.
        signal(SIGPIPE, SIG_IGN)
        while true {
            // Read again each time, because a new gateway may have created a new token.
            guard let access = configured(try AdminAccess.find(inputs)) else {
                return ExitCode.wrong
            }
            if let code = follow(AdminClient(access), request) { return code }
            if StandardOutput.isGone(within: pause) { return ExitCode.fine }
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    /// nil means: try again.
    private mutating func follow(_ client: AdminClient, _ request: AdminRequest) -> CInt? {
        display.begin()
        var isHere = false
        let isBack = hasBegun
        let end = client.follow(request) { [display] piece in
            if isBack, !isHere {
                Terminal.complain("connected again; logs accepted in between are not shown")
            }
            isHere = true
            return display.show(piece)
        }
        switch end {
        case .left: return ExitCode.fine
        case .over:
            Terminal.complain("the gateway ended the stream; trying again until it is back")
            hasBegun = true
            pause = Self.pauseMin
            return nil
        case .unreachable(let problem):
            guard !hasBegun else { return nil }
            Terminal.complain(problem.description)
            return ExitCode.failed
        case .refused(let answer) where answer.isFine:
            Terminal.complain("the server at this address is not a gateway; check --admin-listen")
            return ExitCode.failed
        case .refused(let answer):
            // A starting gateway may still be busy.
            if hasBegun, answer.status >= 500 || answer.status == 429 { return nil }
            Terminal.complain(OperatorCommand.complaint(answer))
            return ExitCode.failed
        }
    }
}

import HTTP
import Queue

extension DecisionRefusal {
    /// What an operator is told.
    var reason: String {
        switch self {
        case .tooManySettings:
            "\(Decision.settingsMax) settings are decided already and no more are kept; take some back "
                + "(DELETE /admin/destinations/NAME, POST …/resume), or write this one into the configuration"
        case .tooLarge:
            "what is decided at once may have \(Decision.valueBytesMax >> 10) KiB; write it into the configuration"
        case .busy: "too many changes wait already; try again in a moment"
        case .queue(let admission): admission.reason ?? "the queue cannot be written"
        }
    }
}

extension HTTPProblem {
    init(notStored refusal: DecisionRefusal) {
        let (status, code) =
            switch refusal {
            case .tooManySettings: (409, "TooManySettings")
            case .tooLarge: (400, "ParameterInvalid")
            case .busy, .queue: (503, "ServerBusy")
            }
        self.init(
            status,
            code,
            "the change cannot be stored and was not made: \(refusal.reason)"
        )
    }
}

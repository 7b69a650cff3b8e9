import Configuration
import Logs
import Queue

extension Destination.Intake {
    /// In the words of the decoder.
    var rules: LogRules {
        LogRules(
            times: TimeWindow(past: logDelayMax),
            late: late,
            oversize: oversize == .truncate ? .cut : .setAside
        )
    }

    private var late: LogRules.Late {
        switch lateLogs {
        case .rewrite: .rewrite
        case .drop: .drop
        case .deadLetter: .setAside
        }
    }
}

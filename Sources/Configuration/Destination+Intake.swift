package import Queue

extension Destination {
    /// What happens to logs on their way in: what SLS would refuse, and what keeps devices apart.
    package struct Intake: Sendable, Equatable {
        package enum Oversize: Sendable, Equatable {
            /// The value is cut, and the log says so.
            case truncate
            case deadLetter
        }

        /// Tags that become fields of their logs, so that devices which differ in them share packets.
        package enum FoldTags: Sendable, Equatable {
            case none
            case named([String])
            case all
        }

        /// An hour less than SLS takes, which is what a log may still wait here.
        package static let logDelayDefault: Duration = .seconds(7 * 86_400 - 3600)

        package var lateLogs = LatePolicy.rewrite
        /// Logs older than this are late.
        package var logDelayMax = Intake.logDelayDefault
        package var oversize = Oversize.truncate
        package var foldTags = FoldTags.none
        /// Whether a device's `__pack_id__` stays, at the price of packets of its own.
        package var keepsPackID = false
        /// What logs tell of their sender.
        package var stamps = SenderStamps()
    }
}

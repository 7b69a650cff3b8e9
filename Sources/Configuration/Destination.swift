package import Delivery
package import Queue
package import SLS

/// A place to deliver to, as the configuration describes it: the group `destinations.NAME`.
package struct Destination: Sendable, Equatable {
    package enum Logstore: Sendable, Equatable {
        case named(String)
        /// Whatever logstore the request's path names.
        case any

        /// "*" for every logstore.
        package var name: String {
            switch self {
            case .named(let name): name
            case .any: "*"
            }
        }
    }

    package var name: String
    /// At least one; the first that answers is used, the earlier the better.
    package var endpoints: [Endpoint] = []
    package var project = ""
    package var logstore = Logstore.any
    /// The credential's name.
    package var credential = "default"
    package var signature = SignatureVersion.v4
    /// Absent where no endpoint shows it and signature v1 needs none.
    package var region: String?
    package var labels = Labels()
    package var intake = Intake()
    package var backlog = Backlog()
    package var transfer = Transfer()
    /// A reload found no such destination any more: it goes on as it is, until the restart.
    package var isRemoved = false

    /// What batches get that bring none, and what every batch gets.
    package struct Labels: Sendable, Equatable {
        package struct Tag: Sendable, Equatable {
            package let key: String
            package let value: String
        }

        package var topic = ""
        package var source = ""
        package var tags: [Tag] = []
    }

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

        package var lateLogs = LatePolicy.rewrite
        /// Logs older than this are late. An hour less than SLS takes, which is what a log may still wait here.
        package var logDelayMax: Duration = .seconds(7 * 86_400 - 3600)
        package var oversize = Oversize.truncate
        package var foldTags = FoldTags.none
        /// A device's `__pack_id__` stays, at the price of packets of its own.
        package var keepsPackID = false
        /// What logs tell of their sender.
        package var stamps = SenderStamps()
    }

    /// What may wait for it in the queue, and in which order it goes.
    package struct Backlog: Sendable, Equatable {
        /// Absent, the queue's own bound is the only one.
        package var bytesMax: Int?
        /// Absent, it is the queue's.
        package var ageMax: Duration?
        package var overflow = DestinationRules.Overflow.reject
        /// 0 to 90.
        package var freshPercent = 0
        /// Counts only with `logstore: "*"`.
        package var logstoresMax = 100
    }

    /// How packets are made and sent.
    package struct Transfer: Sendable, Equatable {
        package var compression = Compression.lz4
        package var packet = PacketLimits()
        package var concurrency = 8
        package var isExactlyOnce = false
        /// Absent, they follow from the concurrency.
        package var lanesGiven: Int?
        package var dropsUnauthorized = false
        package var connectTimeout: Duration = .seconds(10)
        package var sendTimeout: Duration = .seconds(15)
        /// Absent, it is the send timeout.
        package var stallTimeout: Duration?
        /// SLS's clock minus this machine's, until SLS has told its own.
        package var clockOffset: Duration = .zero
        package var proxy: Proxy?
        /// Certificates to trust instead of the system's.
        package var certificateFile: String?

        /// For delivery exactly once; 0 delivers at least once. A lane carries one packet at a time, so twice as many
        /// as requests keep those busy while acknowledged packets wait for their commit.
        package var lanes: Int { isExactlyOnce ? lanesGiven ?? concurrency * 2 : 0 }
    }
}

package import SLS

/// A place to deliver to, as the configuration describes it.
package struct Destination: Sendable, Equatable {
    package enum Logstore: Sendable, Equatable {
        case named(String)
        /// Whatever logstore the request's path names.
        case any
    }

    package var name: String
    /// At least one; the first that answers is used, the earlier the better.
    package var endpoints: [Endpoint]
    package var project: String
    package var logstore: Logstore
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
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
}

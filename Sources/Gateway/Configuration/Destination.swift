package import Queue
package import SLS

/// A place to deliver to, as the configuration describes it.
package struct Destination: Sendable, Equatable {
    package enum Logstore: Sendable, Equatable {
        case named(String)
        /// Whatever logstore the request's path names.
        case any
    }

    package var name: String
    package var endpoint: Endpoint
    package var project: String
    package var logstore: Logstore
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
    /// Absent, it follows from the endpoint.
    package var region: String?
    package var labels: Labels
    package var intake = Intake()
    package var transfer: Transfer

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

    /// How packets are made and sent.
    package struct Transfer: Sendable, Equatable {
        package var compression = Compression.lz4
        package var packet = PacketLimits()
        package var concurrency = 8
        package var connectTimeout: Duration = .seconds(10)
        package var sendTimeout: Duration = .seconds(15)
        /// Certificates to trust instead of the system's.
        package var certificateFile: String?
    }
}

package import Crypto
package import Logs
package import SLS

/// An HTTP server that takes logs as JSON.
package struct HTTPTarget: Sendable {
    package enum Compression: String, Sendable {
        case gzip, zstd, none
    }

    /// May hold a token, so it is shown nowhere.
    package let url: Secret
    /// Scheme, host and port of it.
    package let place: Endpoint
    /// Of every request.
    package var headers: [(name: String, value: Secret)] = []
    package var body = LogJSON.Framing.array
    package var shape = LogJSON.Shape.flat
    package var compression = Compression.gzip
    /// The statuses that say that the logs are stored; empty for all from 200 to 299.
    package var successes: Set<Int> = []

    package init(url: Secret, at place: Endpoint) {
        self.url = url
        self.place = place
    }
}

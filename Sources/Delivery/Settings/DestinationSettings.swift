package import Crypto
package import Logs
package import SLS

/// A named place to deliver to.
package struct DestinationSettings: Sendable {
    /// What only destinations of a kind have.
    package enum Target: Sendable {
        case sls(SLSTarget)
        case http(HTTPTarget)
        case file(FileTarget)
        /// Standard output.
        case stdout(LogJSON.Shape)
    }

    package var name: String
    package var target: Target

    /// Requests in flight to one logstore at most; to all of them together twice as many.
    package var concurrency = 8
    /// Packets without permission are dropped after one more try, as with the SDKs'
    /// `DropUnauthorizedLog`.
    package var dropUnauthorized = false
    /// The longest waits of a gate that lets single requests through, from the first one on.
    package var retryWaits = Backoff.retry
    /// How requests travel.
    package var transport = TransportSettings()
    /// The destination's clock minus the host's (NtpTimeOffset), until its answers tell.
    package var clockOffset: Duration = .zero

    package init(name: String, _ target: Target) {
        self.name = name
        self.target = target
    }

    /// Of a destination of kind sls.
    package var sls: SLSTarget {
        get {
            guard case .sls(let target) = target else {
                preconditionFailure("\(name) is a destination of another kind")
            }
            return target
        }
        set { target = .sls(newValue) }
    }

    /// The name of the credential; nil for a kind that needs none.
    var credential: String? {
        if case .sls(let target) = target { target.credential } else { nil }
    }

    /// The project that it writes to; nil for a kind without projects.
    var project: String? {
        if case .sls(let target) = target { target.project } else { nil }
    }

    /// True when a running destination can go on with the new settings.
    func mayBecome(_ new: DestinationSettings) -> Bool {
        guard name == new.name else { return false }
        return switch (target, new.target) {
        case (.sls, .sls), (.http, .http), (.file, .file), (.stdout, .stdout): true
        case (.sls, _), (.http, _), (.file, _), (.stdout, _): false
        }
    }

    func gate(most: Int) -> Gate { Gate(most: most, waits: retryWaits) }
}

/// Settings that the forwarder cannot start with.
package struct DeliveryError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

/// A project of SLS, and how to write to it. The logstore comes with each packet.
package struct SLSTarget: Sendable {
    /// Where the region is reached, in order of preference (`EndpointChoice`).
    package var endpoints: [Endpoint]
    package var project: String
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
    /// For signature v4, where no endpoint's name shows it.
    package var region: String?
    package var compression: Compression

    package init(
        endpoints: [Endpoint],
        project: String,
        credential: String = "default",
        signature: SignatureVersion = .v4,
        region: String? = nil,
        compression: Compression = .lz4
    ) {
        self.endpoints = endpoints
        self.project = project
        self.credential = credential
        self.signature = signature
        self.region = region
        self.compression = compression
    }

    /// The preferred endpoint; setting it drops the others.
    package var endpoint: Endpoint {
        get { endpoints[0] }
        set { endpoints = [newValue] }
    }
}

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

package import SLS

/// A named place to deliver to. The logstore comes with each packet.
package struct DestinationSettings: Sendable {
    package var name: String
    package var endpoint: Endpoint
    package var project: String
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
    /// For signature v4, where the endpoint's name does not show it.
    package var region: String?
    package var compression: Compression
    /// Added to every packet; a tag that the stream has already is left as the stream has it.
    package var tags: [(key: String, value: String)]

    /// Requests in flight at most.
    package var concurrency = 8
    /// Packets on lease from the queue at most: in flight, or waiting for a retry.
    package var leases = 32
    /// Packets beyond these at most that failed again and again for reasons of their own, as a logstore
    /// that does not exist. Each is a few hundred bytes; with more of them all others wait too.
    package var parked = 256
    package var connectTimeout: Duration = .seconds(10)
    /// From the start of a request to the end of its answer, in addition to the time that its body may
    /// take. SLS's SDKs advise 20 s on weak networks.
    package var sendTimeout: Duration = .seconds(15)
    /// A request that moves no byte for that long is given up.
    package var stallTimeout: Duration = .seconds(15)
    /// Certificate authorities to trust instead of the system's, as a PEM file.
    package var certificateAuthorities: String?

    package init(
        name: String,
        endpoint: Endpoint,
        project: String,
        credential: String = "default",
        signature: SignatureVersion = .v4,
        region: String? = nil,
        compression: Compression = .lz4,
        tags: [(key: String, value: String)] = []
    ) {
        self.name = name
        self.endpoint = endpoint
        self.project = project
        self.credential = credential
        self.signature = signature
        self.region = region
        self.compression = compression
        self.tags = tags
    }
}

extension DestinationSettings {
    /// What a connection must manage at least. All requests share the uplink: on 1 Mbit/s eight of them
    /// have no more than this each.
    private static let slowestBytesPerSecond = 16 << 10

    /// How long a request with such a body may take. One that makes no progress ends long before, by
    /// the stall timeout.
    func timeLimit(bodyBytes: Int) -> Duration {
        sendTimeout + .milliseconds(bodyBytes * 1000 / Self.slowestBytesPerSecond)
    }
}

extension DestinationSettings {
    /// A setting that cannot work, with its name and one sentence.
    package struct Problem: Sendable, Equatable {
        package let setting: String
        package let reason: String
    }

    /// Everything that is wrong with these settings.
    package var problems: [Problem] {
        var problems: [Problem] = []
        func note(_ setting: String, _ reason: String) {
            problems.append(Problem(setting: setting, reason: reason))
        }
        if let reason = NamePattern.project.problem(with: project) { note("project", reason) }
        do throws(EndpointError) {
            _ = try SigningMethod(signature, region: region, endpoint: endpoint)
        } catch {
            note("region", error.description)
        }
        if !(1...256).contains(concurrency) {
            note("concurrency", "concurrency is \(concurrency); use 1 to 256")
        }
        if leases < concurrency || leases > 4096 {
            note("leases", "leases is \(leases); use at least the concurrency, and at most 4096")
        }
        if !(0...4096).contains(parked) {
            note("parked", "parked is \(parked); use 0 to 4096")
        }
        let timeouts = [
            ("connect_timeout", connectTimeout), ("send_timeout", sendTimeout),
            ("stall_timeout", stallTimeout),
        ]
        for (name, timeout) in timeouts
        where !(.milliseconds(100) ... .seconds(3600)).contains(timeout) {
            note(name, "\(name) is \(timeout); use 100 milliseconds to 1 hour")
        }
        return problems
    }
}

/// Settings that the forwarder cannot start with.
package struct DeliveryError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

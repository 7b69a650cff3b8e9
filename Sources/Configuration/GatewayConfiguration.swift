package import Credentials
package import Crypto
import Delivery
package import HTTP
package import Logs
package import Net
package import Queue
package import System

/// Everything that an operator can set, read and checked once.
package struct GatewayConfiguration: Sendable, Equatable {
    package var listen: ListenAddress
    /// Nil leaves devices with the listener that speaks plain HTTP.
    package var tls: DeviceTLS?
    package var admin: AdminSettings
    package var dataDirectory: String
    /// What the file says of it, where the environment says something else.
    var overruledDirectory: String?
    package var queue = QueueSettings()
    package var devices = DeviceSettings()
    package var destinations: [Destination]
    /// By the name that destinations use.
    package var credentials: [String: CredentialSource]
    /// Pushed credentials are stored under it; without it they are kept in memory only.
    package var encryptionKey: Secret?
    /// Who is told when a credential is not well.
    package var webhook = WebhookSettings()
    /// What sources look at that are told to look around.
    package var environment = HiddenEnvironment()
    package var log = LogSettings()
    package var limits = LimitSettings()
    /// How long a stop may take to finish requests and deliver what is queued.
    package var drainTimeout: Duration = .seconds(10)

    /// Where batches go whose `Host` names no project of ours.
    package var defaultDestination: Destination {
        destinations.first { $0.name == "default" } ?? destinations[0]
    }
}

package struct AdminSettings: Sendable, Equatable {
    package var listen: ListenAddress
    /// Absent, one is made and kept in the data directory.
    package var token: Secret?
    /// Tokens with a name of their own besides it.
    package var tokens: [NamedToken] = []
    /// Nil speaks plain HTTP.
    package var tls: TLSSettings?
    /// For the commands that talk to the listener.
    package var client = ClientSettings()

    package struct ClientSettings: Sendable, Equatable {
        /// Trusted in place of the system's.
        package var authorities: String?
        /// What the command shows where certificates of clients are asked for.
        package var certificate: TLSSettings.Certificate?
    }
}

package struct QueueSettings: Sendable, Equatable {
    package var bytesMax = 4 << 30
    package var ageMax: Duration = .seconds(7 * 86_400)
    package var durability = Durability.full
    package var freeBytesMin = 256 << 20
    package var deadLetterAgeMax: Duration = .seconds(30 * 86_400)
    /// Different streams that may wait at a time.
    package var streamsMax = 100_000
    /// For destinations that say nothing of their own.
    package var overflow = DestinationRules.Overflow.reject
    package var freshPercent = 0
}

package struct DeviceSettings: Sendable, Equatable {

    package init() {}
    /// How repeated requests are recognised; with either at 0 none are.
    package struct Duplicates: Sendable, Equatable {
        package var window: Duration = .seconds(86_400)
        package var max = 200_000
    }

    /// How requests may be signed with a key, besides SLS's own way.
    package struct HMAC: Sendable, Equatable {
        /// So far the signed time may be from ours, either way.
        package var window: Duration = .seconds(300)
        /// So many are remembered at a time; beyond, what is signed gets 503.
        package var noncesMax = 200_000
    }

    /// Who may send; everybody, with none of them.
    package var keys: [DeviceKey] = []
    package var hmac = HMAC()
    /// Nil takes none.
    package var tokens: DeviceTokens?
    /// Of pages that may send, unless a key says otherwise.
    package var origins = OriginList.any
    /// Names of headers that pages may send besides those that clients are known to, in lower case.
    package var corsHeaders: [String] = []
    /// Which clients' paths there are.
    package var accepted = AcceptedDialects.all
    package var duplicates = Duplicates()
    /// What each address may send, whoever it is.
    package struct PerAddress: Sendable, Equatable {
        package var rate: Allowance?
        package var bytes: Allowance?
        /// The address book has this many pages; each needs room for one address.
        package static let addressesMin = 64

        /// So many are remembered.
        package var addressesMax = 65_536
    }

    package var perAddress = PerAddress()
    /// Those in front of the listeners.
    package var proxies = ProxyTrust.Rules()
}

package struct LogSettings: Sendable, Equatable {
    package var level = Journal.Level.info
    /// Absent, it follows from whether standard error is a terminal.
    package var format: Journal.Format?
}

package struct LimitSettings: Sendable, Equatable {

    package init() {}
    package var http = HTTPServer.Limits()
    package var bodyBytes = 10 << 20
    package var inflatedBytes = 10 << 20
    /// Bytes of content for each byte on the wire.
    package var inflateRatio = InflateLimit().ratio
    package var json = LogLimits()
    /// What delivery keeps in memory for all destinations together.
    package var deliveryBytes = DeliveryMemory.usualMax
}

extension DeviceSettings {
    /// Who may send what, by names that are no one else's.
    package var senders: [(name: String, rules: SenderRules)] {
        let ofTokens = tokens.map { Array(zip($0.names, $0.senders)) } ?? []
        return keys.map { ($0.name, $0.rules) } + ofTokens
    }
}

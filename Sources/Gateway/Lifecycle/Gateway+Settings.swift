import Delivery
import Queue

// The configuration in the words of the rooms that it is for.

extension GatewayConfiguration {
    var queueConfiguration: QueueConfiguration {
        QueueConfiguration(
            directory: dataDirectory,
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            durability: queue.durability,
            freeBytesMin: queue.freeBytesMin,
            destinations: Dictionary(
                destinations.map { ($0.name, DestinationRules(packet: $0.transfer.packet)) },
                uniquingKeysWith: { first, _ in first }
            )
        )
    }
}

extension Destination {
    /// Its tags are missing here on purpose: they are part of the stream, so that a log goes out with
    /// the tags of the day it was accepted.
    var deliverySettings: DestinationSettings {
        var settings = DestinationSettings(
            name: name,
            endpoint: endpoint,
            project: project,
            credential: credential,
            signature: signature,
            region: region,
            compression: transfer.compression
        )
        settings.concurrency = transfer.concurrency
        settings.leases = max(settings.leases, transfer.concurrency * 2)
        settings.connectTimeout = transfer.connectTimeout
        settings.sendTimeout = transfer.sendTimeout
        settings.certificateAuthorities = transfer.certificateFile
        return settings
    }
}

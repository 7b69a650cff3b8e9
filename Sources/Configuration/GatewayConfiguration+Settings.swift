package import Delivery
package import Queue

// The configuration in the words of the rooms that it is for.

extension GatewayConfiguration {
    package var queueBounds: QueueBounds {
        QueueBounds(
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            freeBytesMin: queue.freeBytesMin,
            deadLetterAgeMax: queue.deadLetterAgeMax,
            streamsMax: queue.streamsMax,
            senders: devices.senders.count
        )
    }

    package var queueRules: [String: DestinationRules] {
        Dictionary(
            destinations.map { ($0.name, $0.queueRules) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}

extension Destination {
    var queueRules: DestinationRules {
        var rules = DestinationRules(packet: packetLimits)
        if case .named(let name) = logstore { rules.logstore = name }
        rules.bytesMax = backlog.bytesMax
        rules.ageMax = backlog.ageMax
        rules.overflow = backlog.overflow
        rules.freshPercent = backlog.freshPercent
        rules.logstoresMax = backlog.logstoresMax
        rules.lanes = transfer.lanes
        rules.lateLogs = intake.lateLogs
        return rules
    }
}

extension Destination {
    /// Topic, source, tags and pack id of a packet: those of devices have a bound of 8 KiB.
    private var endingBytesMax: Int {
        labels.tags.reduce(32 << 10) { $0 + $1.key.utf8.count + $1.value.utf8.count + 16 }
    }

    /// The logs of a packet: what ends it is in SLS's limit, too.
    var packetLimits: PacketLimits {
        var limits = transfer.packet
        limits.rawBytes = max(1, min(limits.rawBytes, Self.requestBytesMax - endingBytesMax))
        return limits
    }

    /// Its tags are missing here on purpose: they are part of the stream, so that a log goes out with
    /// the tags of the day it was accepted.
    package var deliverySettings: DestinationSettings {
        var settings = DestinationSettings(
            name: name,
            endpoint: endpoints[0],
            project: project,
            credential: credential,
            signature: signature,
            region: region,
            compression: transfer.compression
        )
        settings.endpoints = endpoints
        settings.concurrency = transfer.concurrency
        settings.dropUnauthorized = transfer.dropsUnauthorized
        settings.transport.connectTimeout = transfer.connectTimeout
        settings.transport.sendTimeout = transfer.sendTimeout
        settings.transport.stallTimeout = transfer.stallTimeout
        settings.clockOffset = transfer.clockOffset
        settings.transport.proxy = transfer.proxy
        settings.transport.certificateAuthorities = transfer.certificateFile
        return settings
    }
}

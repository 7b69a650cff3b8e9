import Configuration
import SQLiteQueue

extension GatewayConfiguration {
    var queueConfiguration: QueueConfiguration {
        var settings = QueueConfiguration(
            directory: dataDirectory,
            bytesMax: queue.bytesMax,
            ageMax: queue.ageMax,
            durability: queue.durability,
            freeBytesMin: queue.freeBytesMin,
            destinations: queueRules
        )
        settings.deadLetterAgeMax = queue.deadLetterAgeMax
        settings.streamsMax = queue.streamsMax
        settings.senders = devices.senders.count
        settings.repeatsAgeMax = devices.duplicates.window
        settings.repeatsMax = devices.duplicates.window > .zero ? devices.duplicates.max : 0
        return settings
    }
}

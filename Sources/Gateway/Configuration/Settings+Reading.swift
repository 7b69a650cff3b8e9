import HTTP
import Logs
import Queue
import System

extension QueueSettings {
    static var age: Kind<Duration> {
        .duration(.seconds(60) ... .seconds(86_400 * 365))
    }

    static func read(_ section: consuming Section) -> QueueSettings {
        var settings = QueueSettings()
        if let bytes = section.value("max_bytes", .size(1 << 20...1 << 50)) {
            settings.bytesMax = bytes
        }
        if let age = section.value("max_age", age) { settings.ageMax = age }
        if let age = section.value("dead_letter_age", age) { settings.deadLetterAgeMax = age }
        if let count = section.value("max_streams", .count(1...1_000_000)) {
            settings.streamsMax = count
        }
        if let choice = section.value("overflow", .overflow) { settings.overflow = choice }
        if let part = section.value("fresh_first", .freshPercent) { settings.freshPercent = part }
        let durability = Kind<QueueConfiguration.Durability>.choice([
            "full": .full, "normal": .normal,
        ])
        if let choice = section.value("durability", durability) {
            settings.durability = choice
        }
        if let bytes = section.value("min_free_bytes", .size(0...1 << 50)) {
            settings.freeBytesMin = bytes
        }
        section.refuseOthers()
        return settings
    }
}

extension LogSettings {
    static func read(_ section: consuming Section) -> LogSettings {
        var settings = LogSettings()
        let levels = Kind<Journal.Level>.choice(
            ["debug": .debug, "info": .info, "warning": .warning, "error": .error]
        )
        let override = Override(option: "--log-level", variable: "SLUICE_LOG_LEVEL")
        if let level = section.value("level", levels, override) { settings.level = level }
        let formats = Kind<Journal.Format?>.choice(["auto": nil, "json": .json, "text": .text])
        if let format = section.value("format", formats) { settings.format = format }
        section.refuseOthers()
        return settings
    }
}

extension LimitSettings {
    private typealias Sizes = [(String, WritableKeyPath<LimitSettings, Int>, ClosedRange<Int>)]

    static func read(_ section: consuming Section) -> LimitSettings {
        var settings = LimitSettings()
        let sizes: Sizes = [
            ("request_line", \.http.requestLineBytes, 256...1 << 20),
            ("head", \.http.headBytes, 1 << 10...1 << 20),
            ("chunk_extensions", \.http.chunkExtensionBytes, 0...1 << 20),
            ("trailers", \.http.trailerBytes, 0...1 << 20),
            ("body", \.bodyBytes, 1 << 10...1 << 30),
            ("inflated_body", \.inflatedBytes, 1 << 10...1 << 30),
            ("bodies_in_flight", \.http.inFlightBodyBytes, 1 << 20...1 << 40),
        ]
        for (key, path, range) in sizes {
            if let size = section.value(key, .size(range)) { settings[keyPath: path] = size }
        }
        let counts: Sizes = [
            ("fields", \.http.headFields, 8...10_000),
            ("inflate_ratio", \.inflateRatio, 2...1_000_000),
            ("connections", \.http.connections, 1...1_000_000),
            ("json_depth", \.json.depth, 1...64),
            ("connections_per_address", \.http.connectionsPerAddress, 1...1_000_000),
        ]
        for (key, path, range) in counts {
            if let count = section.value(key, .count(range)) { settings[keyPath: path] = count }
        }
        let timeouts: [(String, WritableKeyPath<LimitSettings, Duration>)] = [
            ("head_timeout", \.http.headTime),
            ("body_timeout", \.http.bodyTime),
            ("idle_timeout", \.http.idleTime),
            ("write_timeout", \.http.writeTime),
        ]
        let range = Duration.milliseconds(100) ... .seconds(3600)
        for (key, path) in timeouts {
            if let time = section.value(key, .duration(range)) { settings[keyPath: path] = time }
        }
        if settings.http.inFlightBodyBytes < settings.bodyBytes {
            section.problem(
                section.has("bodies_in_flight") ? "bodies_in_flight" : "body",
                "bodies_in_flight (\(sizeText(settings.http.inFlightBodyBytes))) has no room for one "
                    + "body (\(sizeText(settings.bodyBytes))); raise it or lower body"
            )
        }
        if settings.http.headBytes < settings.http.requestLineBytes {
            section.problem(
                section.has("head") ? "head" : "request_line",
                "head (\(sizeText(settings.http.headBytes))) includes the request line "
                    + "(\(sizeText(settings.http.requestLineBytes))); raise it or lower request_line"
            )
        }
        section.refuseOthers()
        return settings
    }
}

import Delivery
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
        let durability = Kind<Durability>.choice([
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
            ("heads_in_flight", \.http.heldHeadBytes, 1 << 18...1 << 40),
            ("answer", \.http.answerBytes, 64 << 10...1 << 30),
            ("answers_in_flight", \.http.unsentAnswerBytes, 1 << 20...1 << 40),
            ("delivery_memory", \.deliveryBytes, DeliveryMemory.leastMax...1 << 40),
        ]
        for (key, path, range) in sizes {
            if let size = section.value(key, .size(range)) { settings[keyPath: path] = size }
        }
        let counts: Sizes = [
            ("fields", \.http.headFields, 8...10_000),
            ("inflate_ratio", \.inflateRatio, 2...1_000_000),
            ("connections", \.http.connections, 1...1_000_000),
            ("json_depth", \.json.depth, 1...64),
            ("log_fields", \.json.fields, 128...1_000_000),
            ("tags", \.json.tagsGathered, 128...100_000),
            ("label_sets", \.json.streams, 1...1_000_000),
            ("labels", \.json.labels, 1...100_000_000),
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
            ("large_wait", \.http.largeWait),
        ]
        let rates: [(String, WritableKeyPath<LimitSettings, Int>)] = [
            ("body_rate", \.http.bodyRateMin), ("answer_rate", \.http.answerRateMin),
        ]
        for (key, path) in rates {
            if let rate = section.value(key, .bytesPerSecond(1...1 << 30)) {
                settings[keyPath: path] = rate
            }
        }
        let range = Duration.milliseconds(100) ... .seconds(3600)
        for (key, path) in timeouts {
            if let time = section.value(key, .duration(range)) { settings[keyPath: path] = time }
        }
        let (report, path) = (section.report, section.path)
        // In place of one that is wrong its default would be compared.
        func areRead(_ keys: String...) -> Bool {
            !keys.contains { report.hasProblem(with: "\(path).\($0)") }
        }
        if areRead("bodies_in_flight", "body"),
            settings.http.inFlightBodyBytes < settings.bodyBytes
        {
            section.problem(
                section.has("bodies_in_flight") ? "bodies_in_flight" : "body",
                "bodies_in_flight (\(sizeText(settings.http.inFlightBodyBytes))) has no room for one "
                    + "body (\(sizeText(settings.bodyBytes))); raise it or lower body"
            )
        }
        if areRead("answers_in_flight", "answer"),
            settings.http.unsentAnswerBytes < settings.http.largestAnswerBytes
        {
            let head = sizeText(HTTPServer.Limits.answerHeadBytes)
            section.problem(
                section.has("answers_in_flight") ? "answers_in_flight" : "answer",
                "answers_in_flight (\(sizeText(settings.http.unsentAnswerBytes))) has no room for one "
                    + "answer (\(sizeText(settings.http.answerBytes))) and its head (\(head)); raise it "
                    + "or lower answer"
            )
        }
        // A block of memory for a head may be twice as large as the head.
        if areRead("heads_in_flight", "head"),
            settings.http.heldHeadBytes < 4 * settings.http.headBytes
        {
            section.problem(
                section.has("heads_in_flight") ? "heads_in_flight" : "head",
                "heads_in_flight (\(sizeText(settings.http.heldHeadBytes))) has no room for four heads "
                    + "(\(sizeText(settings.http.headBytes))); raise it or lower head"
            )
        }
        if areRead("head", "request_line"),
            settings.http.headBytes < settings.http.requestLineBytes
        {
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

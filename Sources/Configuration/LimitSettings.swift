import Delivery
package import HTTP
package import Logs
import System

/// The group `limits`.
package struct LimitSettings: SettingGroup, Sendable, Equatable {
    package var http = HTTPServer.Limits()
    package var bodyBytes = 10 << 20
    package var inflatedBytes = 10 << 20
    /// Bytes of content for each byte on the wire.
    package var inflateRatio = InflateLimit().ratio
    package var json = LogLimits()
    /// What delivery keeps in memory for all destinations together.
    package var deliveryBytes = DeliveryMemory.usualMax
    /// What all captures together keep.
    package var captureBytes = 64 << 20
    /// The nice value of the threads that serve devices.
    package var deviceNice = 5

    package init() {}

    static var settings: [Setting<LimitSettings>] {
        size("request_line", \.http.requestLineBytes, 256...1 << 20) { "414" }
        size("head", \.http.headBytes, 1 << 10...1 << 20) { "431" }
        count("fields", \.http.headFields, 8...10_000) { "431; fields of a head" }
        size("chunk_extensions", \.http.chunkExtensionBytes, 0...1 << 20) {
            "400; of one chunked body"
        }
        size("trailers", \.http.trailerBytes, 0...1 << 20) { "400; of one chunked body" }
        size("body", \.bodyBytes, 1 << 10...1 << 30) { "413" }
        size("inflated_body", \.inflatedBytes, 1 << 10...1 << 30) { "413" }
        count("inflate_ratio", \.inflateRatio, 2...1_000_000) {
            "413; content for each byte on the wire, checked from 1 MiB of content on"
        }
        size("bodies_in_flight", \.http.inFlightBodyBytes, 1 << 20...1 << 40) {
            "503; bodies without an answer, and their inflated content"
        }
        size("heads_in_flight", \.http.heldHeadBytes, 1 << 18...1 << 40) {
            """
            503; heads that are not complete or whose bodies are not, and small requests that wait \
            behind another; also TLS handshakes (28 to 180 KiB each) and records in progress: a \
            handshake without room ends
            """
        }
        size("answer", \.http.answerBytes, 64 << 10...1 << 30) {
            """
            413 for `_bulk`, before anything is stored; its answer is short before that: status and \
            error alone
            """
        }
        size("answers_in_flight", \.http.unsentAnswerBytes, 1 << 20...1 << 40) {
            """
            503, or the connection ends; answers that their clients have not read. At least one \
            `answer` and its head, 16 KiB
            """
        }
        size("delivery_memory", \.deliveryBytes, DeliveryMemory.leastMax...1 << 40) {
            """
            no answer of its own: the memory of delivery for all destinations, bodies in flight and \
            packets that wait for their turn; the rest waits on disk. `32MiB` at least; a quarter is \
            kept for destinations without a request in flight, and of the rest each gets no more than \
            it leaves free ([scaling](scaling.md))
            """
        }
        size("captures", \.captureBytes, 1 << 20...1 << 40) {
            """
            409 for a new [capture](capture.md); running ones keep no more. The memory of all captures \
            together
            """
        }
        Setting("device_nice", \.deviceNice, .count(0...19), reload: .atRestart) {
            """
            no answer of its own: the nice value of the threads that serve devices. While all cores are \
            busy, the threads that store and deliver go first, and devices wait longer for answers; \
            with 0 all are equal, and a full machine takes fewer logs
            """
        }
        count("json_depth", \.json.depth, 1...64) { "400" }
        count("log_fields", \.json.fields, 128...1_000_000) { "400; different fields of one log" }
        count("label_sets", \.json.streams, 1...1_000_000) {
            """
            400 for Loki, 413 for Splunk; streams with different labels, or events of different \
            origins, of one request
            """
        }
        count("labels", \.json.labels, 1...100_000_000) {
            "400 for Loki, 413 for Splunk; the labels that these have together"
        }
        count("tags", \.json.tagsGathered, 128...100_000) {
            """
            the tag `__truncated__` names the tags that are left out; tags of a request, or labels of \
            a stream
            """
        }
        count("connections", \.http.connections, 1...1_000_000) {
            "503 and close; with and without TLS together"
        }
        count("connections_per_address", \.http.connectionsPerAddress, 1...1_000_000) {
            "503 and close; raise it behind a load balancer"
        }
        time("head_timeout", \.http.headTime) {
            "503, so that senders keep their logs: a head must be complete within it"
        }
        time("body_timeout", \.http.bodyTime) { "503; a body must bring a KiB within it" }
        rate("body_rate", \.http.bodyRateMin) {
            """
            503; the average of a body, after a start of `body_timeout`. While more than half of \
            `bodies_in_flight` is used it is `8KiB/s` at least: the slow ones make room
            """
        }
        time("large_wait", \.http.largeWait) {
            """
            503; how long a request with much or expensive content waits for a worker thread. Waiting \
            ones hold at most half of `bodies_in_flight`, from one address a quarter: more is 503
            """
        }
        time("idle_timeout", \.http.idleTime) { "closed" }
        time("write_timeout", \.http.writeTime) {
            "closed; an answer that waits must move on within it"
        }
        rate("answer_rate", \.http.answerRateMin) {
            """
            closed; the average at which an answer that waits is read, after a start of \
            `write_timeout`
            """
        }
    }

    private typealias Row = Setting<LimitSettings>
    private typealias IntPath = WritableKeyPath<LimitSettings, Int>

    private static func size(
        _ key: String,
        _ path: IntPath,
        _ range: ClosedRange<Int>,
        _ help: () -> String
    ) -> Row { Row(key, path, .size(range), reload: .atRestart, help: help) }

    private static func count(
        _ key: String,
        _ path: IntPath,
        _ range: ClosedRange<Int>,
        _ help: () -> String
    ) -> Row { Row(key, path, .count(range), reload: .atRestart, help: help) }

    private static func rate(_ key: String, _ path: IntPath, _ help: () -> String) -> Row {
        Row(key, path, .bytesPerSecond(1...1 << 30), reload: .atRestart, help: help)
    }

    private static func time(
        _ key: String,
        _ path: WritableKeyPath<LimitSettings, Duration>,
        _ help: () -> String
    ) -> Row {
        let range = Duration.milliseconds(100) ... .seconds(3600)
        return Row(key, path, .duration(range), reload: .atRestart, help: help)
    }

    // MARK: - Limits that depend on each other

    func check(_ section: borrowing Section) {
        /// Reports it for the first key when the file has that, else for the second, whose default is too small.
        func report(_ first: String, _ second: String, _ isWrong: Bool, _ text: String) {
            // In place of one that is wrong its default would be compared.
            let areRead = [first, second].allSatisfy {
                !section.report.hasProblem(with: section.keyPath($0))
            }
            if areRead, isWrong { section.problem(section.has(first) ? first : second, text) }
        }
        report(
            "bodies_in_flight",
            "body",
            http.inFlightBodyBytes < bodyBytes,
            "bodies_in_flight (\(sizeText(http.inFlightBodyBytes))) has no room for one body "
                + "(\(sizeText(bodyBytes))); raise it or lower body"
        )
        report(
            "answers_in_flight",
            "answer",
            http.unsentAnswerBytes < http.largestAnswerBytes,
            "answers_in_flight (\(sizeText(http.unsentAnswerBytes))) has no room for one answer "
                + "(\(sizeText(http.answerBytes))) and its head "
                + "(\(sizeText(HTTPServer.Limits.answerHeadBytes))); raise it or lower answer"
        )
        // A block of memory for a head may be twice as large as the head.
        report(
            "heads_in_flight",
            "head",
            http.heldHeadBytes < 4 * http.headBytes,
            "heads_in_flight (\(sizeText(http.heldHeadBytes))) has no room for four heads "
                + "(\(sizeText(http.headBytes))); raise it or lower head"
        )
        report(
            "head",
            "request_line",
            http.headBytes < http.requestLineBytes,
            "head (\(sizeText(http.headBytes))) includes the request line "
                + "(\(sizeText(http.requestLineBytes))); raise it or lower request_line"
        )
    }
}

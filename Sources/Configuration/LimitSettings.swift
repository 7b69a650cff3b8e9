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
    package var deliveryBytes = 64 << 20
    /// What all captures together keep.
    package var captureBytes = 64 << 20
    /// The nice value of the threads that serve devices.
    package var deviceNice = 5

    /// The largest packet fits twice.
    package static let deliveryBytesLeast = 32 << 20

    package init() {}

    static var settings: [Setting<LimitSettings>] {
        Setting("request_line", \.http.requestLineBytes, .size(256...1 << 20)) { "414" }
        Setting("head", \.http.headBytes, .size(1 << 10...1 << 20)) { "431" }
        Setting("fields", \.http.headFields, .count(8...10_000)) { "431; fields of a head" }
        Setting("chunk_extensions", \.http.chunkExtensionBytes, .size(0...1 << 20)) {
            "400; of one chunked body"
        }
        Setting("trailers", \.http.trailerBytes, .size(0...1 << 20)) { "400; of one chunked body" }
        Setting("body", \.bodyBytes, .size(1 << 10...1 << 30)) { "413" }
        Setting("inflated_body", \.inflatedBytes, .size(1 << 10...1 << 30)) { "413" }
        Setting("inflate_ratio", \.inflateRatio, .count(2...1_000_000)) {
            "413; content for each byte on the wire, checked from 1 MiB of content on"
        }
        Setting("bodies_in_flight", \.http.inFlightBodyBytes, .size(1 << 20...1 << 40)) {
            "503; bodies without an answer, and their inflated content"
        }
        Setting("heads_in_flight", \.http.heldHeadBytes, .size(1 << 18...1 << 40)) {
            "503; heads that are not complete or whose bodies are not, and small requests that "
            "wait behind another; also TLS handshakes (28 to 180 KiB each) and records in "
            "progress: a handshake without room ends"
        }
        Setting("answer", \.http.answerBytes, .size(64 << 10...1 << 30)) {
            "413 for `_bulk`, before anything is stored; its answer is short before that: status "
            "and error alone"
        }
        Setting("answers_in_flight", \.http.unsentAnswerBytes, .size(1 << 20...1 << 40)) {
            "503, or the connection ends; answers that their clients have not read. At least one "
            "`answer` and its head, 16 KiB"
        }
        Setting("delivery_memory", \.deliveryBytes, .size(deliveryBytesLeast...1 << 40)) {
            "no answer of its own: the memory of delivery for all destinations, bodies in flight "
            "and packets that wait for their turn; the rest waits on disk. `32MiB` at least; a "
            "quarter is kept for destinations without a request in flight, and of the rest each "
            "gets no more than it leaves free ([scaling](scaling.md))"
        }
        Setting("captures", \.captureBytes, .size(1 << 20...1 << 40)) {
            "409 for a new [capture](capture.md); running ones keep no more. The memory of all "
            "captures together"
        }
        Setting("device_nice", \.deviceNice, .count(0...19)) {
            "no answer of its own: the nice value of the threads that serve devices. While all "
            "cores are busy, the threads that store and deliver go first, and devices wait longer "
            "for answers; with 0 all are equal, and a full machine takes fewer logs"
        }
        Setting("json_depth", \.json.depth, .count(1...64)) { "400" }
        Setting("log_fields", \.json.fields, .count(128...1_000_000)) {
            "400; different fields of one log"
        }
        Setting("label_sets", \.json.streams, .count(1...1_000_000)) {
            "400 for Loki, 413 for Splunk; streams with different labels, or events of different "
            "origins, of one request"
        }
        Setting("labels", \.json.labels, .count(1...100_000_000)) {
            "400 for Loki, 413 for Splunk; the labels that these have together"
        }
        Setting("tags", \.json.tagsGathered, .count(128...100_000)) {
            "the tag `__truncated__` names the tags that are left out; tags of a request, or "
            "labels of a stream"
        }
        Setting("connections", \.http.connections, .count(1...1_000_000)) {
            "503 and close; with and without TLS together"
        }
        Setting("connections_per_address", \.http.connectionsPerAddress, .count(1...1_000_000)) {
            "503 and close; raise it behind a load balancer"
        }
        Setting("head_timeout", \.http.headTime, time) {
            "503, so that senders keep their logs: a head must be complete within it"
        }
        Setting("body_timeout", \.http.bodyTime, time) { "503; a body must bring a KiB within it" }
        Setting("body_rate", \.http.bodyRateMin, rate) {
            "503; the average of a body, after a start of `body_timeout`. While more than half of "
            "`bodies_in_flight` is used it is `8KiB/s` at least: the slow ones make room"
        }
        Setting("large_wait", \.http.largeWait, time) {
            "503; how long a request with much or expensive content waits for a worker thread. "
            "Waiting ones hold at most half of `bodies_in_flight`, from one address a quarter: "
            "more is 503"
        }
        Setting("idle_timeout", \.http.idleTime, time) { "closed" }
        Setting("write_timeout", \.http.writeTime, time) {
            "closed; an answer that waits must move on within it"
        }
        Setting("answer_rate", \.http.answerRateMin, rate) {
            "closed; the average at which an answer that waits is read, after a start of "
            "`write_timeout`"
        }
    }

    /// The threads of the server have them from the start.
    static var reload: Reload { .atRestart }

    private static var rate: Kind<Int> { .bytesPerSecond(1...1 << 30) }
    private static var time: Kind<Duration> { .duration(.milliseconds(100) ... .seconds(3600)) }

    // MARK: - Limits that depend on each other

    func check(_ section: borrowing Section) {
        /// Reports it for the first key if the file has it, else for the second, whose default is
        /// too small.
        func report(_ first: String, or second: String, if isWrong: Bool, _ text: String) {
            // In place of one that is wrong its default would be compared.
            let areRead = [first, second].allSatisfy {
                !section.report.hasProblem(with: section.keyPath($0))
            }
            if areRead, isWrong { section.problem(section.has(first) ? first : second, text) }
        }
        report(
            "bodies_in_flight",
            or: "body",
            if: http.inFlightBodyBytes < bodyBytes,
            "bodies_in_flight (\(sizeText(http.inFlightBodyBytes))) has no room for one body "
                + "(\(sizeText(bodyBytes))); raise it or lower body"
        )
        report(
            "answers_in_flight",
            or: "answer",
            if: http.unsentAnswerBytes < http.largestAnswerBytes,
            "answers_in_flight (\(sizeText(http.unsentAnswerBytes))) has no room for one answer "
                + "(\(sizeText(http.answerBytes))) and its head "
                + "(\(sizeText(HTTPServer.Limits.answerHeadBytes))); raise it or lower answer"
        )
        // A block of memory for a head may be twice as large as the head.
        report(
            "heads_in_flight",
            or: "head",
            if: http.heldHeadBytes < 4 * http.headBytes,
            "heads_in_flight (\(sizeText(http.heldHeadBytes))) has no room for four heads "
                + "(\(sizeText(http.headBytes))); raise it or lower head"
        )
        report(
            "head",
            or: "request_line",
            if: http.headBytes < http.requestLineBytes,
            "head (\(sizeText(http.headBytes))) includes the request line "
                + "(\(sizeText(http.requestLineBytes))); raise it or lower request_line"
        )
    }
}

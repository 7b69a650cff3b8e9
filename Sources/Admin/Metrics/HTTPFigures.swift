import HTTP
import Ingest
import Net
import Operations
import Routing
import System
import Tokens

enum HTTPFigures {
    static let parts: [any FigurePart] = [
        listeners, certificates, revocationLists, renewals, requests,
    ]

    private static let listeners = FigureGroup<Counts<HTTPCounter>>(.requests, by: ["listener"]) {
        $0.listeners.map { ([$0.name], $0.counters) }
    }.table([
        Figure("sluice_http_responses_total", by: "class") {
            [
                ("2xx", $0[.answers2xx]), ("3xx", $0[.answers3xx]), ("4xx", $0[.answers4xx]),
                ("5xx", $0[.answers5xx]),
            ]
        }: "Answers, by the class of their status.",
        Figure("sluice_http_connections_accepted_total", \.[.accepted]): "Connections accepted.",
        Figure("sluice_http_connections_broken_total", \.[.broken]):
            "Connections that clients ended in the middle of a request or answer.",
        Figure("sluice_http_malformed_total", \.[.malformed]): "Requests that could not be read.",
        Figure("sluice_http_too_large_total", \.[.tooLarge]):
            "Requests with a body beyond the limit.",
        Figure("sluice_http_refused_in_flight_total", \.[.refusedBodies]):
            "Requests refused because too many body bytes were in flight.",
        Figure("sluice_http_refused_heads_total", \.[.refusedHeads]):
            "Requests refused because too many bytes of heads were held.",
        Figure("sluice_http_refused_answers_total", \.[.refusedAnswers]):
            "Answers refused or cut off because too many bytes of answers were unread.",
        Figure("sluice_http_tls_handshakes_total", \.[.handshakes]):
            "TLS handshakes that completed.",
        Figure("sluice_http_tls_resumptions_total", \.[.resumptions]):
            "TLS handshakes that resumed an earlier session.",
        Figure("sluice_http_tls_failures_total", \.[.failedHandshakes]):
            "TLS handshakes that failed.",
        Figure("sluice_http_proxy_headers_total", \.[.proxyHeaders]):
            "Connections with a PROXY header.",
        Figure("sluice_http_received_bytes_total", \.[.bytesIn]): "Bytes read from connections.",
        Figure("sluice_http_sent_bytes_total", \.[.bytesOut]): "Bytes written to connections.",
        Figure("sluice_http_connections_refused_total", by: "reason") {
            [
                ("full", $0[.refusedFull]), ("address", $0[.refusedPerAddress]),
                ("no_proxy", $0[.refusedNoProxy]),
                ("proxy_header", $0[.refusedProxyHeader]),
            ]
        }: "Connections refused, by reason.",
        Figure("sluice_http_timeouts_total", by: "kind") {
            [
                ("head", $0[.headTimeouts]), ("body", $0[.bodyTimeouts]),
                ("write", $0[.writeTimeouts]), ("idle", $0[.idleTimeouts]),
            ]
        }: "Connections closed by a timeout, by kind.",
        Figure("sluice_http_connections", \.[.openConnections]): "Connections that are open.",
        Figure("sluice_http_in_flight_body_bytes", \.[.heldBodies]):
            "Bytes of request bodies without an answer.",
        Figure("sluice_http_large_requests_total", \.[.largeStarted]):
            "Large requests that worker threads started.",
        Figure("sluice_http_refused_large_requests_total", \.[.largeRefused]):
            "Large requests refused because too many waited, or one waited too long.",
        Figure("sluice_http_large_requests_waiting", \.[.largeWaiting]):
            "Large requests that wait for a worker thread.",
        Figure("sluice_http_held_head_bytes", \.[.heldHeads]): "Bytes of incomplete request heads.",
        Figure("sluice_http_unsent_answer_bytes", \.[.heldAnswers]):
            "Bytes of answers that clients have not read.",
    ])

    /// The configuration names no file of a listener twice.
    private static let certificates = FigureGroup<TLSCertificate>(
        .requests,
        by: ["listener", "file"]
    ) { report in
        report.listeners.flatMap { listener in
            (listener.certificates?.certificates ?? []).map { ([listener.name, $0.file], $0) }
        }
    }.table([
        Figure("sluice_tls_certificate_expiry_timestamp_seconds", \.expires.seconds):
            "When the served certificate expires, in seconds since 1970.",
        Figure("sluice_tls_certificate_expiring") { $0.isNearEnd(at: $1) }:
            "1 if the served certificate should have been renewed by now.",
    ])

    /// Each file of revocation lists, with the first expiry in it.
    private static let revocationLists = FigureGroup<WallTime>(.requests, by: ["listener", "file"])
    { report in
        report.listeners.flatMap { listener in
            let lists = listener.certificates?.revocationLists ?? []
            let ends = Dictionary(
                lists.compactMap { list in list.expires.map { (list.file, $0) } },
                uniquingKeysWith: { min($0, $1) }
            )
            return ends.sorted { $0.key < $1.key }.map { ([listener.name, $0.key], $0.value) }
        }
    }.table([
        Figure("sluice_tls_crl_expiry_timestamp_seconds", \.seconds):
            "When the first revocation list of the file expires, in seconds since 1970; clients are refused from then on."
    ])

    private static let renewals = FigureGroup<CertificateWatch.Status>(.requests, by: ["listener"])
    { $0.listeners.compactMap { each in each.certificates.map { ([each.name], $0) } } }.table([
        Figure("sluice_tls_renewal_failing") { status, _ in status.problem != nil }:
            "1 if a listener's certificate files cannot be served."
    ])

    private static let requests = FigureGroup<AnswerCounters.Count>(
        .requests,
        by: ["listener", "route", "status"]
    ) { report in
        report.requests.answers.flatMap { listener, counts in
            counts.map { ([listener, $0.route, $0.status], $0) }
        }
    }.table([
        Figure("sluice_http_requests_total", \.answers): "Requests by route and status."
    ])
}

enum IngestFigures {
    static let parts: [any FigurePart] = [
        accepted, refused, keys, senders, tokenKeys, content, filters,
    ]

    private static let accepted = FigureGroup<IngestCounters.Accepted>(.logs, by: ["route"]) {
        $0.requests.accepted.map { ([$0.route], $0) }
    }.table([
        Figure("sluice_ingest_requests_total", \.counts[.requests]):
            "Requests whose logs were accepted.",
        Figure("sluice_ingest_logs_total", \.counts[.logs]):
            "Logs that were accepted, before filters.",
        Figure("sluice_ingest_body_bytes_total", \.counts[.bodyBytes]):
            "Bytes of stored requests' bodies, inflated.",
        Figure("sluice_ingest_repeated_total", \.counts[.repeated]):
            "Repeated requests, which got the first answer.",
        Figure("sluice_ingest_ack_seconds", histogram: \.acknowledgements):
            "Time from a complete request until its logs are on disk and its 2xx is sent.",
    ])

    private static let refused = FigureGroup<Int>(.logs, by: ["route", "status", "code"]) {
        $0.requests.refused.map {
            ([$0.kind.route, "\($0.kind.status)", $0.kind.code], $0.count)
        }
    }.table([
        Figure("sluice_ingest_refused_total", \.self): "Requests that were refused, by reason."
    ])

    private static let keys = FigureGroup<KeyCounts>(.devices, by: ["key"]) {
        $0.senders.keys.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_device_key_requests_total", \.taken[.requests]):
            "Requests stored, by their key.",
        Figure("sluice_device_key_logs_total", \.taken[.logs]): "Logs stored, by their key.",
        Figure("sluice_device_key_body_bytes_total", \.taken[.bodyBytes]):
            "Bytes of stored requests' bodies, inflated, by their key.",
        Figure("sluice_device_key_refused_total", by: "reason") { $0.refused.named }:
            "Requests that a key's own rules refused, by the rule.",
    ])

    private static let senders = FigureGroup<GatewayReport.Senders>(.devices, \.senders).table([
        Figure("sluice_device_address_refused_total", by: "reason") {
            [("rate", $0.addresses[.refusedRate]), ("bytes", $0.addresses[.refusedBytes])]
        }: "Requests beyond the budget of their address.",
        Figure("sluice_device_address_shared_total", \.addresses[.shared]):
            "Times that addresses shared a budget, because too many others are remembered.",
        Figure("sluice_device_addresses", \.addresses[.addresses]):
            "Addresses whose use is remembered.",
        Figure("sluice_device_addresses_max", \.addressesMax): "Addresses that may be remembered.",
        Figure("sluice_device_strangers_total", by: "reason") {
            $0.unknown.map { ($0.reason, $0.count) }
        }: "Requests refused because their sender is unknown, by reason.",
        Figure("sluice_device_nonces", \.nonces):
            "Nonces of signed requests that are remembered; devices.hmac.nonces at most.",
        Figure("sluice_device_tokens", \.tokens):
            "Good tokens that are remembered; 20,000 at most.",
    ])

    private static let tokenKeys = FigureGroup<TokenKeySources.Status>(.devices, by: ["source"]) {
        $0.senders.tokenKeys.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_device_token_keys", \.keys.keys): "Keys fetched from an issuer of tokens.",
        Figure("sluice_device_token_keys_age_seconds") { source, now in
            source.keys.fetched.map { now - $0 }
        }: "Seconds since an issuer's keys were fetched; absent before the first fetch.",
        Figure("sluice_device_token_keys_fetches_total", by: "outcome") {
            [("fetched", $0.keys.fetches), ("failed", $0.keys.failures)]
        }: "Fetches of an issuer's keys, by outcome.",
    ])

    private static let content = FigureGroup<Counts<ContentCounter>>(.logs, \.requests.content)
        .table([
            Figure("sluice_ingest_clock_corrected_total", \.[.clockCorrected]):
                "Requests whose times were corrected by the skew of their device's clock.",
            Figure("sluice_ingest_clock_unusable_total", \.[.clockUnusable]):
                "Requests whose x-log-client-time cannot be read, or is years away.",
            Figure("sluice_ingest_repaired_requests_total", \.[.repairedRequests]):
                "Requests whose JSON could be read only after damaged parts of it were replaced.",
            Figure("sluice_ingest_repaired_logs_total", \.[.repairedLogs]):
                "Logs with bytes that are not UTF-8, which became U+FFFD.",
            Figure("sluice_ingest_unreadable_logs_total", \.[.unreadableLogs]):
                "Unreadable texts that became dead letters while the other logs of their request were stored.",
            Figure("sluice_ingest_claims_removed_total", \.[.claimsRemoved]):
                "Device fields and tags that were removed because a stamp has the same name.",
            Figure("sluice_ingest_filtered_logs_total", \.[.filtered]):
                "Logs that filters dropped or sampled out; the answers to their requests count them.",
            Figure("sluice_ingest_dropped_logs_total", \.[.dropped]):
                "Logs that a route without destinations, or `unrouted: drop`, dropped.",
            Figure("sluice_ingest_unrouted_logs_total", \.[.unrouted]):
                "Logs that no route takes, whatever became of them.",
        ])

    private static let filters = FigureGroup<Counts<FilterCounter>>(.logs, by: ["filter"]) {
        $0.requests.filters.map { ([$0.filter], $0.counts) }
    }.table([
        Figure("sluice_filter_logs_total", by: "result") { counts in
            [
                ("seen", counts[.seen]), ("changed", counts[.changed]),
                ("dropped", counts[.dropped]),
                ("sampled_out", counts[.sampledOut]), ("failed", counts[.failed]),
                ("added", counts[.added]),
            ]
        }:
            "Logs that a filter was applied to (seen), and what it did to them; failed: a step failed; "
            + "added: logs that split made besides the first."
    ])
}

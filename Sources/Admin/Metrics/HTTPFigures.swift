import HTTP
import Net
import Operations
import System

/// Figures of the listeners, and of the requests that they answer.
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

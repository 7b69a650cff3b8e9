import HTTP
import Net
import Operations
import System

/// Figures of the listeners, and of the requests that they answer.
enum HTTPFigures {
    static let parts: [any FigurePart] = [
        listeners, certificates, revocationLists, renewals, requests,
    ]

    private static let listeners = FigureGroup<HTTPServer.Counters>(
        .requests,
        by: ["listener"],
        { $0.listeners.map { ([$0.name], $0.counters) } },
        [
            Figure(
                "sluice_http_responses_total",
                by: "class",
                "Answers, by the class of their status."
            ) {
                $0.answersByClass.enumerated().dropFirst().map { ("\($0 + 1)xx", $1) }
            },
            Figure(
                "sluice_http_connections_accepted_total",
                \.connections.accepted,
                "Connections accepted."
            ),
            Figure(
                "sluice_http_connections_broken_total",
                \.connections.broken,
                "Connections that clients ended in the middle of a request or answer."
            ),
            Figure(
                "sluice_http_malformed_total",
                \.refusals.malformed,
                "Requests that could not be read."
            ),
            Figure(
                "sluice_http_too_large_total",
                \.refusals.tooLarge,
                "Requests with a body beyond the limit."
            ),
            Figure(
                "sluice_http_refused_in_flight_total",
                \.refusals.bodies,
                "Requests refused because too many body bytes were in flight."
            ),
            Figure(
                "sluice_http_refused_heads_total",
                \.refusals.heads,
                "Requests refused because too many bytes of heads were held."
            ),
            Figure(
                "sluice_http_refused_answers_total",
                \.refusals.answers,
                "Answers refused or cut off because too many bytes of answers were unread."
            ),
            Figure(
                "sluice_http_tls_handshakes_total",
                \.tls.handshakes,
                "TLS handshakes that completed."
            ),
            Figure(
                "sluice_http_tls_resumptions_total",
                \.tls.resumptions,
                "TLS handshakes that resumed an earlier session."
            ),
            Figure("sluice_http_tls_failures_total", \.tls.failures, "TLS handshakes that failed."),
            Figure(
                "sluice_http_proxy_headers_total",
                \.connections.proxyHeaders,
                "Connections with a PROXY header."
            ),
            Figure("sluice_http_received_bytes_total", \.bytesIn, "Bytes read from connections."),
            Figure("sluice_http_sent_bytes_total", \.bytesOut, "Bytes written to connections."),
            Figure(
                "sluice_http_connections_refused_total",
                by: "reason",
                "Connections refused, by reason."
            ) {
                [
                    ("full", $0.connections.refusedFull),
                    ("address", $0.connections.refusedPerAddress),
                    ("no_proxy", $0.connections.refusedNoProxy),
                    ("proxy_header", $0.connections.refusedProxyHeader),
                ]
            },
            Figure(
                "sluice_http_timeouts_total",
                by: "kind",
                "Connections closed by a timeout, by kind."
            ) {
                [
                    ("head", $0.timeouts.head), ("body", $0.timeouts.body),
                    ("write", $0.timeouts.write), ("idle", $0.timeouts.idle),
                ]
            },
            Figure("sluice_http_connections", \.connections.open, "Connections that are open."),
            Figure(
                "sluice_http_in_flight_body_bytes",
                \.held.bodies,
                "Bytes of request bodies without an answer."
            ),
            Figure(
                "sluice_http_large_requests_total",
                \.largeRequests.started,
                "Large requests that worker threads started."
            ),
            Figure(
                "sluice_http_refused_large_requests_total",
                \.largeRequests.refused,
                "Large requests refused because too many waited, or one waited too long."
            ),
            Figure(
                "sluice_http_large_requests_waiting",
                \.largeRequests.waiting,
                "Large requests that wait for a worker thread."
            ),
            Figure(
                "sluice_http_held_head_bytes",
                \.held.heads,
                "Bytes of incomplete request heads."
            ),
            Figure(
                "sluice_http_unsent_answer_bytes",
                \.held.answers,
                "Bytes of answers that clients have not read."
            ),
        ]
    )

    /// The configuration names no file of a listener twice.
    private static let certificates = FigureGroup<TLSCertificate>(
        .requests,
        by: ["listener", "file"],
        { report in
            report.listeners.flatMap { listener in
                (listener.certificates?.certificates ?? []).map { ([listener.name, $0.file], $0) }
            }
        },
        [
            Figure(
                "sluice_tls_certificate_expiry_timestamp_seconds",
                \.expires.seconds,
                "When the served certificate expires, in seconds since 1970."
            ),
            Figure(
                "sluice_tls_certificate_expiring",
                "1 if the served certificate should have been renewed by now."
            ) { $0.isNearEnd(at: $1) },
        ]
    )

    /// Each file of revocation lists, with the first expiry in it.
    private static let revocationLists = FigureGroup<WallTime>(
        .requests,
        by: ["listener", "file"],
        { report in
            report.listeners.flatMap { listener in
                let lists = listener.certificates?.revocationLists ?? []
                let ends = Dictionary(
                    lists.compactMap { list in list.expires.map { (list.file, $0) } },
                    uniquingKeysWith: { min($0, $1) }
                )
                return ends.sorted { $0.key < $1.key }.map { ([listener.name, $0.key], $0.value) }
            }
        },
        [
            Figure(
                "sluice_tls_crl_expiry_timestamp_seconds",
                \.seconds,
                "When the first revocation list of the file expires, in seconds since 1970; clients are refused from then on."
            )
        ]
    )

    private static let renewals = FigureGroup<CertificateWatch.Status>(
        .requests,
        by: ["listener"],
        { $0.listeners.compactMap { each in each.certificates.map { ([each.name], $0) } } },
        [
            Figure(
                "sluice_tls_renewal_failing",
                "1 if a listener's certificate files cannot be served."
            ) { status, _ in status.problem != nil }
        ]
    )

    private static let requests = FigureGroup<AnswerCounters.Count>(
        .requests,
        by: ["listener", "route", "status"],
        { report in
            report.requests.answers.flatMap { listener, counts in
                counts.map { ([listener, $0.route, $0.status], $0) }
            }
        },
        [Figure("sluice_http_requests_total", \.answers, "Requests by route and status.")]
    )
}

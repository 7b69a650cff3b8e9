import HTTP
import Operations

extension MetricsPage {
    typealias HTTPCount = KeyPath<HTTPServer.Counters, Int>

    /// What the servers count, one sample for each listener.
    mutating func listeners(_ listeners: [GatewayReport.Listener]) {
        family("sluice_http_responses_total", .counter, "Answers, by the class of their status.") {
            for listener in listeners {
                for (index, count) in listener.counters.answersByClass.enumerated().dropFirst() {
                    $0.add(count, ["listener": listener.name, "class": "\(index + 1)xx"])
                }
            }
        }
        let counters: KeyValuePairs<String, (String, HTTPCount)> = [
            "sluice_http_connections_accepted_total": (
                "Connections accepted.", \.connectionsAccepted
            ),
            "sluice_http_connections_broken_total": (
                "Connections that clients ended in the middle of a request or answer.",
                \.connectionsBroken
            ),
            "sluice_http_malformed_total": ("Requests that could not be read.", \.malformed),
            "sluice_http_too_large_total": ("Requests with a body beyond the limit.", \.tooLarge),
            "sluice_http_refused_in_flight_total": (
                "Requests refused because too many body bytes were in flight.", \.refusedInFlight
            ),
            "sluice_http_refused_heads_total": (
                "Requests refused because too many bytes of heads were held.", \.refusedHeads
            ),
            "sluice_http_refused_answers_total": (
                "Answers refused or cut off because too many bytes waited for their readers.",
                \.refusedAnswers
            ),
            "sluice_http_tls_handshakes_total": (
                "TLS handshakes that completed.", \.tlsHandshakes
            ),
            "sluice_http_tls_resumptions_total": (
                "TLS handshakes that resumed an earlier session.", \.tlsResumptions
            ),
            "sluice_http_tls_failures_total": (
                "TLS handshakes that failed.", \.tlsFailures
            ),
            "sluice_http_proxy_headers_total": (
                "Connections with a PROXY header.", \.proxyHeaders
            ),
            "sluice_http_received_bytes_total": ("Bytes read from connections.", \.bytesIn),
            "sluice_http_sent_bytes_total": ("Bytes written to connections.", \.bytesOut),
        ]
        for (name, (help, path)) in counters {
            family(name, .counter, help) { $0.add(listeners, path) }
        }
        family("sluice_http_connections_refused_total", .counter, "Connections turned away.") {
            for listener in listeners {
                let counters = listener.counters
                $0.add(
                    counters.connectionsRefusedFull,
                    ["listener": listener.name, "reason": "full"]
                )
                $0.add(
                    counters.connectionsRefusedPerAddress,
                    ["listener": listener.name, "reason": "address"]
                )
                $0.add(
                    counters.connectionsRefusedNoProxy,
                    ["listener": listener.name, "reason": "no_proxy"]
                )
                $0.add(
                    counters.connectionsRefusedProxyHeader,
                    ["listener": listener.name, "reason": "proxy_header"]
                )
            }
        }
        family(
            "sluice_http_timeouts_total",
            .counter,
            "Connections ended because they were too slow."
        ) {
            let kinds: KeyValuePairs<String, HTTPCount> = [
                "head": \.headTimeouts, "body": \.bodyTimeouts, "write": \.writeTimeouts,
                "idle": \.idleTimeouts,
            ]
            for listener in listeners {
                for (kind, path) in kinds {
                    $0.add(
                        listener.counters[keyPath: path],
                        ["listener": listener.name, "kind": kind]
                    )
                }
            }
        }
        family("sluice_http_connections", .gauge, "Connections that are open.") {
            $0.add(listeners, \.connectionsOpen)
        }
        family("sluice_http_in_flight_body_bytes", .gauge, "Bodies without an answer yet.") {
            $0.add(listeners, \.inFlightBodyBytes)
        }
        family(
            "sluice_http_large_requests_total",
            .counter,
            "Large requests that worker threads started."
        ) {
            $0.add(listeners, \.largeRequests)
        }
        family(
            "sluice_http_refused_large_requests_total",
            .counter,
            "Large requests refused because too many waited, or one for too long."
        ) {
            $0.add(listeners, \.largeRequestsRefused)
        }
        family(
            "sluice_http_large_requests_waiting",
            .gauge,
            "Large requests that wait for a worker thread."
        ) {
            $0.add(listeners, \.largeRequestsWaiting)
        }
        family("sluice_http_held_head_bytes", .gauge, "Heads of requests that are not complete.") {
            $0.add(listeners, \.heldHeadBytes)
        }
        family("sluice_http_unsent_answer_bytes", .gauge, "Answers that wait for their readers.") {
            $0.add(listeners, \.unsentAnswerBytes)
        }
    }
}

extension MetricsPage.Samples {
    fileprivate mutating func add(
        _ listeners: [GatewayReport.Listener],
        _ path: MetricsPage.HTTPCount
    ) {
        for listener in listeners {
            add(listener.counters[keyPath: path], ["listener": listener.name])
        }
    }
}

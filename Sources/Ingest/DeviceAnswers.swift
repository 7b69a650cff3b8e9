import HTTP
import Logs

/// The answers to devices. Also used on the queue's thread, after a commit.
struct DeviceAnswers: Sendable {
    let counters: IngestCounters

    func refused(
        _ refusal: Refusal,
        _ route: DeviceRoute,
        _ readers: CrossOrigin
    ) -> Response {
        var response = route.refused(refusal)
        counters.countRefused(route.label, refusal, as: response.status)
        sayWhenToRetry(refusal, route.label, &response)
        // Also where the head could not be read: nothing in a refusal is secret, and a page can show it.
        readers.add(to: &response)
        if refusal.status == 405 { response.fields.append(("allow", route.methods.names)) }
        // RFC 9110 section 11.6.1. SLS's SDKs ask nothing of it.
        if response.status == 401, !route.label.isSLS {
            response.fields.append(("www-authenticate", "Bearer realm=\"sluice\""))
        }
        // RFC 9110 section 12.5.3.
        if refusal.code == "InvalidCompressType", case .logs(let dialect) = route {
            response.fields.append(("accept-encoding", dialect.contentEncodings))
        }
        response.label = route.label.rawValue
        return response
    }

    /// RFC 9110 section 10.2.3. SLS's SDKs ask nothing of it.
    private func sayWhenToRetry(
        _ refusal: Refusal,
        _ label: DeviceLabel,
        _ response: inout Response
    ) {
        guard DeviceLabel.ofLogs.contains(label), !label.isSLS,
            response.status == 429 || response.status == 503
        else { return }
        response.fields.removeAll { $0.name == "retry-after" }
        response.fields.append(("retry-after", "\(refusal.retryAfter ?? 1)"))
        // Else pages do not see what is more than the usual.
        guard refusal.retryAfter != nil else { return }
        response.fields.append(("access-control-expose-headers", "retry-after"))
    }

    /// `response` as the dialect gave it, with what every client gets.
    func accepted(
        _ response: Response,
        _ label: DeviceLabel,
        _ acceptance: Acceptance,
        _ readers: CrossOrigin
    ) -> Response {
        var response = response
        response.fields.append(("x-log-requestid", acceptance.receipt))
        readers.add(to: &response)
        response.label = label.rawValue
        return response
    }

    func preflight(
        _ route: DeviceRoute,
        _ headers: PreflightHeaders,
        _ readers: CrossOrigin
    ) -> Response {
        var response = Response(
            // Docker's driver for Splunk begins with this, and wants no other.
            status: route.label == .splunk ? 200 : 204,
            fields: [
                ("allow", route.methods.names),
                ("access-control-allow-methods", route.methods.names),
                ("access-control-allow-headers", headers.names),
                ("access-control-max-age", "86400"),
            ]
        )
        readers.add(to: &response)
        response.label = route.label.rawValue
        return response
    }

    func page(_ page: DevicePage) -> Response {
        var response = page.response
        response.label = page.label.rawValue
        return response
    }
}

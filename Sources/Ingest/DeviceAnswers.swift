import HTTP
import Logs

/// Builds the answers to devices. Any thread may use it.
struct DeviceAnswers: Sendable {
    let counters: IngestCounters

    func refused(
        _ refusal: Refusal,
        _ route: DeviceRoute,
        _ readers: CrossOrigin
    ) -> Response {
        var response = route.refused(refusal)
        counters.countRefused(route.label, refusal, as: response.status)
        addRetryAfter(refusal, route.label, &response)
        // Also when the head could not be read: a refusal holds nothing secret, and a page can show
        // it.
        readers.add(to: &response)
        if refusal.status == 405 { response.fields.append(("allow", route.methods.names)) }
        // RFC 9110 section 11.6.1. SLS's SDKs ignore it.
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

    /// RFC 9110 section 10.2.3. SLS's SDKs ignore it.
    private func addRetryAfter(
        _ refusal: Refusal,
        _ label: DeviceLabel,
        _ response: inout Response
    ) {
        guard DeviceLabel.ofLogs.contains(label), !label.isSLS,
            response.status == 429 || response.status == 503
        else { return }
        response.fields.removeAll { $0.name == "retry-after" }
        response.fields.append(("retry-after", "\(refusal.problem.retryAfter ?? 1)"))
        // Pages can read only the fields that the answer exposes.
        guard refusal.problem.retryAfter != nil else { return }
        response.fields.append(("access-control-expose-headers", "retry-after"))
    }

    /// Adds receipt, CORS fields and label to the answer of the dialect.
    func accepted(
        _ response: consuming Response,
        _ label: DeviceLabel,
        _ acceptance: Acceptance,
        _ readers: CrossOrigin
    ) -> Response {
        response.receipt = acceptance.receipt
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
            // Docker's Splunk driver begins with OPTIONS and accepts only 200.
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

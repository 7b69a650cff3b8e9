import Configuration

/// The header fields that a page may send beyond those that browsers always allow, for the answer
/// to a preflight.
struct PreflightHeaders: Sendable {
    /// The value of `Access-Control-Allow-Headers`.
    let names: String

    private static let common = [
        "authorization", "content-encoding", "content-md5", "content-type", "idempotency-key",
        "x-log-bodyrawsize", "x-log-client-time", "x-log-compresstype", "x-log-logstore",
        "x-log-project", "x-sluice-key", "x-sluice-signature",
        // Tracing libraries and frameworks add these to every request of a page.
        "baggage", "sentry-trace", "traceparent", "tracestate", "x-requested-with",
    ]
    private static let own: [(dialect: AcceptedDialects, names: [String])] = [
        (
            .sls,
            [
                "x-acs-security-token", "x-log-apiversion", "x-log-content-sha256", "x-log-date",
                "x-log-mode", "x-log-signaturemethod",
            ]
        ),
        (.loki, ["x-scope-orgid"]),
        (.splunk, ["x-splunk-request-channel"]),
    ]

    /// `more` are those of `devices.cors.headers`.
    init(_ dialects: AcceptedDialects, _ more: [String]) {
        let own = Self.own.filter { dialects.contains($0.dialect) }.flatMap(\.names)
        names = Set(Self.common + own + more).sorted().joined(separator: ", ")
    }
}

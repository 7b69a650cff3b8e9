import Credentials
import Operations
import System

/// Figures of credentials, operators, the webhook and the process.
enum GatewayFigures {
    static let build = FigureGroup<Int>(.gateway, by: ["version"]) { _ in [([Version.current], 1)] }
        .table([
            Figure("sluice_build_info", \.self): "The version that runs; always 1."
        ])

    static let parts: [any FigurePart] = [
        credentials, webhook, operation, process, threads, start,
    ]

    private static let credentials = FigureGroup<CredentialStatus>(.gateway, by: ["credential"]) {
        $0.credentials.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_credential_state", by: "state") { credential in
            CredentialStatus.State.allCases.map { ($0.rawValue, credential.state == $0) }
        }: "1 for the state that the credential is in.",
        Figure("sluice_credential_seconds_left") { credential, _ in credential.secondsLeft }:
            "Seconds until the credential expires; negative after that, absent without an end.",
        Figure("sluice_credential_failures", \.failures):
            "Failures of its source since it last worked.",
    ])

    private static let webhook = FigureGroup<WebhookStatus>(.gateway, \.webhook).table([
        Figure("sluice_webhook_events_total", by: "result") {
            [("sent", $0.sent), ("failed", $0.failed), ("dropped", $0.dropped)]
        }: "Messages for the webhook, by result.",
        Figure("sluice_webhook_waiting_events", \.waiting): "Messages that wait for the webhook.",
    ])

    private static let operation = FigureGroup<GatewayReport>(.gateway) { $0 }.table([
        Figure("sluice_ready", \.reasonsAgainstTraffic.isEmpty):
            "1 if the gateway is ready for traffic.",
        Figure("sluice_draining", \.intake.isDraining):
            "1 while the gateway drains and refuses new logs.",
        Figure("sluice_captures_running", \.looks.captures): "Captures of requests that run.",
        Figure("sluice_captured_requests_total", \.looks.captured):
            "Requests that captures have kept.",
        Figure("sluice_captures_bytes", \.looks.captureBytes):
            "Bytes held by all captures, at most limits.captures.",
        Figure("sluice_refusals_missed_total", \.looks.refusalsMissed):
            "Refused requests that a flood left out of the list of refusals.",
        Figure("sluice_console_sessions", \.looks.sessions): "Open sessions of the console.",
        Figure("sluice_admin_changes_total", by: "action") {
            $0.changes.map { ($0.action, $0.count) }
        }: "Changes by operators, by action.",
    ])

    /// Under the names that every Prometheus client library uses.
    static let process = FigureGroup<ProcessFigures>(.gateway) { _ in .now }.table([
        Figure("process_resident_memory_bytes", \.residentBytes, member: "resident_bytes"):
            "Memory in use.",
        Figure("process_virtual_memory_bytes", \.virtualBytes): "Address space in use.",
        Figure("process_cpu_seconds_total", \.cpu, member: "cpu_seconds"):
            "CPU time, user and system.",
        Figure("process_open_fds", \.openDescriptors, member: "open_descriptors"):
            "Open descriptors.",
        Figure("process_max_fds", \.descriptorsMax): "Descriptors that may be open.",
        Figure("process_threads", \.threads): "Threads of the process.",
    ])

    /// On a full machine they show which threads have the cores, and which wait for one.
    private static let threads = FigureGroup<ThreadFigures>(.gateway, by: ["thread"]) { _ in
        ThreadFigures.now.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_thread_cpu_seconds_total", \.cpu): "CPU time of the thread.",
        Figure("sluice_thread_wait_seconds_total", \.waited):
            "Time that the thread was ready to run and had no core.",
    ])

    private static let start = FigureGroup<GatewayReport>(.gateway) { $0 }.table([
        Figure("process_start_time_seconds") { report, now in
            .nanoseconds(now.nanoseconds) - report.uptime as Duration
        }: "When the process started."
    ])
}

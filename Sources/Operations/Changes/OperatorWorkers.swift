package import System

/// The threads that work for operators. A slow job of one kind delays neither the loops nor jobs of
/// other kinds.
package struct OperatorWorkers: Sendable {
    /// Makes changes at run time, one after the other.
    package let changes: SerialWorker
    /// Proves credentials, which may wait long for SLS and STS.
    package let proofs: SerialWorker
    /// Reads long lists from the queue, also those of other gateways of the cluster, for whose
    /// answers it waits.
    package let views: SerialWorker
    /// Lets other gateways change their dead letters, and waits for that, up to half a minute.
    package let changesElsewhere: SerialWorker
    /// Answers other gateways. It waits for none of them, so two that ask each other both get their
    /// answers.
    package let answers: SerialWorker

    /// How often the thread of changes looks at certificates, credentials, removed destinations and
    /// decisions of other gateways that could not be applied.
    private static let watchPause: Duration = .seconds(10)

    package static let waitingViewsMax = 8

    package init() throws(SystemError) {
        changes = try SerialWorker("changes")
        proofs = try SerialWorker("rotations")
        views = try SerialWorker("views", waitingMax: Self.waitingViewsMax)
        changesElsewhere = try SerialWorker("relays", waitingMax: 8)
        answers = try SerialWorker("answers", waitingMax: 16)
    }

    package func start(
        _ certificates: CertificateReload,
        _ alerts: CredentialAlerts,
        _ reload: ConfigurationReload,
        _ shared: SharedDecisions
    ) throws(SystemError) {
        try changes.start(every: Self.watchPause) {
            for watch in certificates.watches { watch.look() }
            alerts.look()
            reload.closeEmptied()
            shared.applyIfDue()
        }
        try proofs.start()
        try views.start()
        try changesElsewhere.start()
        try answers.start()
    }

    package func stop() {
        changes.stop()
        proofs.stop()
        views.stop()
        changesElsewhere.stop()
        answers.stop()
    }
}

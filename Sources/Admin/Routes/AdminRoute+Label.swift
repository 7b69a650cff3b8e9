import HTTP

extension AdminRoute {
    /// What answers are counted under; the first for paths that there are not.
    package static let labels = [
        "other", "healthz", "readyz", "metrics", "status", "queue", "ledger", "audit", "drain",
        "credentials",
        "destinations", "dead_letters", "tail", "openapi",
    ]

    static func label(ofPath path: String) -> Int {
        guard let route = AdminRoute(path: path) else { return 0 }
        return labels.firstIndex(of: route.label) ?? 0
    }

    /// One of a thing counts as all of them: there may be any number.
    private var label: String {
        switch self {
        case .health: "healthz"
        case .readiness: "readyz"
        case .metrics: "metrics"
        case .status: "status"
        case .queue: "queue"
        case .ledger: "ledger"
        case .audit: "audit"
        case .drain: "drain"
        case .tail: "tail"
        case .document: "openapi"
        case .credentials, .credential, .credentialVerify: "credentials"
        case .destinations, .destination, .destinationPause, .destinationResume,
            .destinationFlush:
            "destinations"
        case .deadLetters, .deadLetterExport, .deadLetterReplay, .deadLetterPurge, .deadLetter:
            "dead_letters"
        }
    }
}

extension Response {
    func labelled(_ label: Int) -> Response {
        var labelled = self
        labelled.label = label
        return labelled
    }
}

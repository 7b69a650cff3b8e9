import Net

/// Looks into the files that a listener's TLS names, so that what would fail later is found at once, with its key.
struct TLSFileCheck {
    private typealias Origin = (place: ConfigurationProblem.Place, key: String)

    private let group: Origin
    private var origins: [String: Origin] = [:]

    /// The group that names the files.
    init(place: ConfigurationProblem.Place, key: String) {
        group = (place, key)
    }

    /// Remembers where a file is named.
    mutating func note(_ file: String, _ key: String, of section: borrowing Section) {
        guard origins[file] == nil else { return }
        origins[file] = (section.place(of: key), section.keyPath(key))
    }

    /// Each certificate for itself, so that everything wrong is said at once.
    func run(_ settings: TLSSettings, _ report: ProblemReport) {
        var trial = settings
        for certificate in settings.certificates {
            trial.certificates = [certificate]
            trial.clientCertificates = .none
            check(trial, report)
        }
        if let authorities = settings.clientAuthorities {
            do throws(TLSError) {
                try TLSContext.check(authorities: authorities)
            } catch {
                tell(error, report)
            }
        }
    }

    private func check(_ settings: TLSSettings, _ report: ProblemReport) {
        do throws(TLSError) {
            _ = try TLSContext(settings)
        } catch {
            tell(error, report)
        }
    }

    private func tell(_ error: TLSError, _ report: ProblemReport) {
        let origin = error.file.flatMap { origins[$0] } ?? group
        report.add(origin.place, key: origin.key, error.description)
    }
}

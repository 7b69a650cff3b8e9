import Net

/// Looks into the files that a listener's TLS names, so that what would fail later is found at
/// once, with its key.
struct TLSFileCheck {
    enum Role { case certificate, key, authorities, revocations }

    private struct Origin {
        let file: String
        let role: Role
        let place: ConfigurationProblem.Place
        let key: String
    }

    private var origins: [Origin] = []

    /// Remembers where a file is named, and what for.
    mutating func note(_ file: String, _ role: Role, _ key: String, of section: borrowing Section) {
        guard !origins.contains(where: { $0.file == file && $0.role == role }) else { return }
        origins.append(
            Origin(file: file, role: role, place: section.place(of: key), key: section.keyPath(key))
        )
    }

    /// Each file for itself, then each pair whose files are sound, so that everything wrong is said
    /// at once.
    func run(
        _ pairs: [TLSSettings.Certificate],
        _ version: TLSSettings.Version,
        of section: borrowing Section
    ) {
        let report = section.report
        var unsound: Set<String> = []
        for origin in origins {
            do throws(TLSError) {
                switch origin.role {
                case .certificate, .authorities: try TLSContext.check(certificates: origin.file)
                case .key: try TLSContext.check(key: origin.file)
                case .revocations: try TLSContext.check(revocationLists: origin.file)
                }
            } catch {
                unsound.insert(origin.file)
                report.add(origin.place, key: origin.key, error.description)
            }
        }
        for pair in pairs where !unsound.contains(pair.chainFile) && !unsound.contains(pair.keyFile)
        {
            do throws(TLSError) {
                _ = try TLSContext(TLSSettings(certificates: [pair], minimumVersion: version))
            } catch {
                let origin = error.file.flatMap { file in
                    origins.first { $0.file == file && [.certificate, .key].contains($0.role) }
                }
                report.add(
                    origin?.place ?? section.ownPlace,
                    key: origin?.key ?? section.path,
                    error.description
                )
            }
        }
    }
}

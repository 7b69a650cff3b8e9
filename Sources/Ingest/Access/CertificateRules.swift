import Configuration
import Net

/// Which sender a client is by the names in its certificate: the very name goes before patterns, and of those the first
/// in the configuration.
package struct CertificateRules: Sendable {
    private var places: [[UInt8]: Int] = [:]
    private var patterns: [(pattern: CertificatePattern, place: Int)] = []

    init(_ keys: [DeviceKey]) {
        for (place, key) in keys.enumerated() {
            for pattern in key.certificates {
                if let name = pattern.only {
                    places[name] = places[name] ?? place
                } else {
                    patterns.append((pattern, place))
                }
            }
        }
    }

    /// Where in the configuration's list.
    func place(of names: [String]) -> Int? {
        guard !names.isEmpty, !(places.isEmpty && patterns.isEmpty) else { return nil }
        let names = names.map(comparableName)
        if let place = names.compactMap({ places[$0] }).min() { return place }
        return patterns.first { entry in names.contains { entry.pattern.covers($0) } }?.place
    }
}

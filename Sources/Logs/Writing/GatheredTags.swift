/// The tags of one request as they are gathered: in the order of the request, of those with the same
/// name the last one.
///
/// Nothing about tags is a reason to refuse logs. Their names become what those of fields become, values
/// that are too long are cut, and beyond a number that nobody needs tags are left out; the tag
/// `__truncated__` names those then.
struct GatheredTags {
    /// Up to so many are looked through.
    private static let few = 16

    private var gathered: [(key: String, value: String, isCut: Bool)] = []
    /// Where they are, once there are more than a few.
    private var places: [String: Int] = [:]
    private var leftOut = TruncatedNames()

    mutating func add(_ name: String, _ value: String, _ limits: LogLimits) {
        let key = FieldName.storable(name, bytesMax: limits.keyBytes)
        let kept = value.cut(to: limits.valueBytes)
        let isCut = name.utf8.count > limits.keyBytes || value.utf8.count > limits.valueBytes
        if let place = place(of: key) {
            gathered[place] = (key, kept, isCut)
        } else if gathered.count < limits.tagsGathered {
            gathered.append((key, kept, isCut))
            index()
        } else {
            leftOut.add(key)
        }
    }

    private func place(of key: String) -> Int? {
        places.isEmpty ? gathered.firstIndex { $0.key == key } : places[key]
    }

    private mutating func index() {
        guard gathered.count > Self.few else { return }
        if places.isEmpty {
            for (place, tag) in gathered.enumerated() { places[tag.key] = place }
        } else {
            places[gathered[gathered.count - 1].key] = gathered.count - 1
        }
    }

    var tags: [(key: String, value: String)] {
        var names = leftOut
        for tag in gathered where tag.isCut { names.add(tag.key) }
        return names.marking(gathered.map { ($0.key, $0.value) })
    }
}

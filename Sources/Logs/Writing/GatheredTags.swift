/// The tags of one request as they are gathered: in the order of the request, of those with the same
/// name the last one.
struct GatheredTags {
    private(set) var tags: [(key: String, value: String)] = []
    private var bytes = 0

    enum Fault: Error, Equatable {
        case nameEmpty, nameTooLong(Int), tooMany(Int), tooLong(Int)

        var sentence: String {
            switch self {
            case .nameEmpty: "a tag's name must not be empty"
            case .nameTooLong(let limit): "a tag's name must not exceed \(limit) bytes"
            case .tooMany(let limit): "the request has more than \(limit) tags"
            case .tooLong(let limit): "the request's tags exceed \(limit) bytes"
            }
        }
    }

    /// A tag is part of every log of its packet, so the names that logs may not have are changed as
    /// theirs are.
    mutating func add(
        _ name: String,
        _ value: String,
        _ limits: LogLimits
    ) throws(Fault) {
        guard !name.isEmpty else { throw .nameEmpty }
        guard name.utf8.count <= limits.keyBytes else { throw .nameTooLong(limits.keyBytes) }
        let key = ReservedKey.storable(name)
        bytes += key.utf8.count + value.utf8.count
        guard bytes <= limits.tagsBytes else { throw .tooLong(limits.tagsBytes) }
        if let earlier = tags.firstIndex(where: { $0.key == key }) {
            tags[earlier].value = value
        } else {
            guard tags.count < limits.tags else { throw .tooMany(limits.tags) }
            tags.append((key, value))
        }
    }
}

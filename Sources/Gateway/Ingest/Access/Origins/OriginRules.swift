import HTTP

/// Which pages may send, and what browsers are told of it.
///
/// A key's own list counts in place of that for all. Before the key is known, for a preflight and for what is refused,
/// an origin is one that any of the lists allows. What a request without an origin is, is not decided here: pictures and
/// all that is no browser have none, and whoever is no browser can say what it likes. So this keeps other pages from
/// using a key that stands in one, and nobody else.
struct OriginRules: Sendable {
    private let common: OriginList
    private let all: OriginList
    /// Whether every page may do everything: then nobody looks.
    let isOpen: Bool

    /// `own` are the lists of all keys, nil of those without; none where everybody may send.
    init(common: OriginList, own: [OriginList?]) {
        let lists = own.isEmpty ? [common] : own.map { $0 ?? common }
        self.common = common
        all = OriginList.union(lists)
        isOpen = lists.allSatisfy(\.isAny)
    }

    func check(
        _ head: RequestHead,
        _ sender: DeviceSender?,
        _ label: DeviceLabel
    ) throws(Refusal) {
        guard !isOpen, let origin = head.field("origin") else { return }
        guard !(sender?.origins ?? common).allows(origin) else { return }
        sender?.counter.countRefused(.origin)
        throw .origin(origin, label.isSLS)
    }

    /// What a preflight asks.
    func check(_ head: RequestHead, _ label: DeviceLabel) throws(Refusal) {
        guard !isOpen, let origin = head.field("origin"), !all.allows(origin) else { return }
        throw .origin(origin, label.isSLS)
    }

    /// What the answer to a request says about who may read it; the head is nil when it could not be read.
    func answer(to head: RequestHead?) -> CrossOrigin {
        guard !all.isAny else { return .any }
        guard let origin = head?.field("origin"), all.allows(origin) else { return .nobody }
        return .only(origin)
    }
}

/// What browsers are told of who may read an answer.
enum CrossOrigin: Sendable, Equatable {
    /// A beacon cannot carry a key anyway, and who may send is not decided by what a browser says about itself.
    case any
    case only(String)
    case nobody

    func add(to response: inout Response) {
        switch self {
        case .any: response.fields.append(("access-control-allow-origin", "*"))
        // Caches must not show to one page what was for another.
        case .only(let origin):
            response.fields += [("access-control-allow-origin", origin), ("vary", "Origin")]
        case .nobody: response.fields.append(("vary", "Origin"))
        }
    }
}

extension Refusal {
    /// As for a destination that a key is not for.
    static func origin(_ origin: String, _ isSLS: Bool) -> Refusal {
        Refusal(
            isSLS ? 401 : 403,
            "Unauthorized",
            "pages of \(clipped(origin)) may not send here; see devices.cors.origins, and origins of "
                + "devices.keys"
        )
    }
}

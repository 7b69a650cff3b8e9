import HTTP
import Net

extension RequestHead {
    /// Whether a person reads the answer: asked for with `Accept: text/plain`. Scripts get JSON.
    var wantsText: Bool {
        field("accept")?.lowercased().hasPrefix("text/plain") ?? false
    }

    /// Whether it says that its body is JSON.
    var announcesJSON: Bool {
        let type = field("content-type")?.lowercased().prefix { $0 != ";" && $0 != " " }
        return type == "application/json" || type == "application/x-ndjson"
    }

    /// What all fields of this name (given in lower case) list together, as RFC 9110, section 5.3, has them read;
    /// nil where there is none.
    func list(_ name: String) -> String? {
        let values = fields.filter {
            String(decoding: bytes[$0.name], as: UTF8.self).lowercased() == name
        }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension PeerAddress {
    /// The address itself, or the /64 of a v6 one, whose last half a host chooses as it likes.
    var neighbourhood: Neighbourhood {
        (address ?? IPAddress(v6: 0, 0)).neighbourhood
    }
}

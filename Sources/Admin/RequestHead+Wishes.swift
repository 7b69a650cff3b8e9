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
}

extension PeerAddress {
    /// The address itself, or the /64 of a v6 one, whose last half a host chooses as it likes.
    var neighbourhood: Neighbourhood {
        (address ?? IPAddress(v6: 0, 0)).neighbourhood
    }
}

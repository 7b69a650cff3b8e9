import HTTP
import Logs
import System

extension RequestHead {
    /// The sender's choice for damaged JSON: `?on_error=refuse` accepts a body unchanged or not at
    /// all.
    ///
    /// A GET has its log in the query, where `on_error` may be a field.
    var damage: LogRules.Damage {
        get throws(Refusal) {
            guard method == .post, let query, !query.isEmpty else { return .setAside }
            for pair in bytes[query].split(separator: UInt8(ascii: "&")) {
                let name = pair.prefix { $0 != UInt8(ascii: "=") }
                guard name.elementsEqual("on_error".utf8) else { continue }
                let value = String(decoding: pair.dropFirst(name.count + 1), as: UTF8.self)
                switch value {
                case "refuse": return .refuse
                case "dead_letter": return .setAside
                default:
                    throw Refusal(
                        400,
                        "ParameterInvalid",
                        "the query: on_error is neither dead_letter nor refuse"
                    )
                }
            }
            return .setAside
        }
    }
}

import Crypto
import Net
import SLS

extension Kind<ListenAddress> {
    static var listenAddress: Kind {
        Kind(wants: "an address such as 0.0.0.0:8080") { text throws(Mismatch) in
            do throws(ListenAddressError) {
                return try ListenAddress(parsing: text)
            } catch {
                throw Mismatch(error.description)
            }
        }
    }
}

extension Kind<AddressRange> {
    static var addressRange: Kind {
        Kind(wants: "a range of addresses such as 10.0.0.0/8") { text throws(Mismatch) in
            do throws(AddressRangeError) {
                return try AddressRange(parsing: text)
            } catch {
                throw Mismatch("\(quoted(text)) \(error.description)")
            }
        }
    }
}

extension Kind<Endpoint> {
    static var endpoint: Kind {
        Kind(wants: "an endpoint such as https://cn-hangzhou.log.aliyuncs.com") {
            text throws(Mismatch) in
            do throws(EndpointError) {
                return try Endpoint(parsing: text)
            } catch {
                throw Mismatch(error.description)
            }
        }
    }
}

extension Kind<String> {
    static func name(_ pattern: NamePattern) -> Kind {
        Kind(wants: "a name") { text throws(Mismatch) in
            if let problem = pattern.problem(with: text) { throw Mismatch(problem) }
            return text
        }
    }
}

extension Kind<Destination.Logstore> {
    static var logstore: Kind {
        Kind(wants: "the name of a logstore, or \"*\"") { text throws(Mismatch) in
            guard text != "*" else { return .any }
            if let problem = NamePattern.logstore.problem(with: text) { throw Mismatch(problem) }
            return .named(text)
        }
    }
}

extension Kind<Secret> {
    static func secret(bytesMin: Int) -> Kind {
        // The value itself is never part of what is reported.
        Kind(wants: "a secret") { text throws(Mismatch) in
            guard text.utf8.count >= bytesMin else {
                throw Mismatch(
                    "has \(text.utf8.count) characters; give at least \(bytesMin), "
                        + "for example from: openssl rand -hex 32"
                )
            }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
                throw Mismatch("has spaces, line ends or characters beyond ASCII")
            }
            return Secret(text)
        }
    }
}

import Delivery

extension Kind<Proxy> {
    /// It may hold a password, so that nothing of it is ever part of a message.
    static var proxy: Kind {
        Kind(wants: "a proxy such as http://10.0.0.1:3128") { text throws(Mismatch) in
            do throws(ProxyError) {
                return try Proxy(parsing: text)
            } catch {
                throw Mismatch(error.description)
            }
        }
    }
}

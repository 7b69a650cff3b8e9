import Crypto
import SLS

extension WebhookSettings {
    static func read(_ section: consuming Section) -> WebhookSettings {
        var settings = WebhookSettings()
        settings.address = section.value("url", .webhookAddress)
        settings.isPlainAllowed = section.value("plain_http", .boolean) ?? false
        let isTooOpen = settings.address.map {
            $0.place.scheme == .http && !$0.place.isLoopback
        }
        if isTooOpen == true, !settings.isPlainAllowed {
            section.problem(
                "url",
                "goes to another machine without TLS, where whoever is on the way reads and changes it; "
                    + "use https, or set webhook.plain_http: true where you trust that network"
            )
        }
        settings.authorization = section.value("authorization", .headerValue)
        if section.has("authorization"), !section.has("url") {
            section.problem("authorization", "is of no use without webhook.url")
        }
        if let timeout = section.value("timeout", .duration(.milliseconds(100) ... .seconds(60))) {
            settings.timeout = timeout
        }
        if let interval = section.value("interval", .duration(.seconds(10) ... .seconds(86_400))) {
            settings.interval = interval
        }
        section.refuseOthers()
        return settings
    }
}

extension Kind<WebhookAddress> {
    fileprivate static var webhookAddress: Kind {
        Kind(wants: "a URL such as https://hooks.example.com/sluice") { text throws(Mismatch) in
            try WebhookAddress(parsing: text)
        }
    }
}

extension Kind<Secret> {
    /// It is nowhere repeated.
    fileprivate static var headerValue: Kind {
        Kind(wants: "a text such as Bearer …") { text throws(Mismatch) in
            guard !text.isEmpty, text.utf8.count <= 8 << 10,
                text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
            else {
                throw Mismatch(
                    "is not the value of a header: one line of visible ASCII, up to 8 KiB, as in "
                        + "\"Bearer …\""
                )
            }
            return Secret(text)
        }
    }
}

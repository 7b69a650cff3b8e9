package import Crypto
import SLS
package import System

/// The group `webhook`: who is told, by a POST, when a credential is not well.
package struct WebhookSettings: SettingGroup, Sendable, Equatable {
    /// Absent, nothing is posted.
    package var address: WebAddress?
    /// The value of the header of that name.
    package var authorization: Secret?
    /// Lets messages go to other machines without TLS.
    package var isPlainAllowed = false
    /// How long one attempt may take.
    package var timeout: Duration = .seconds(10)
    /// What flaps is told that often at most: of each credential, each kind of event.
    package var interval: Duration = .seconds(300)

    /// The resolvers of its host's addresses. Empty: the system.
    package var resolvers: ResolverRules = []

    package init() {}

    static var settings: [Setting<WebhookSettings>] {
        Setting(
            "url",
            \.address,
            .webAddress(
                like: "https://hooks.example.com/sluice",
                secretKey: "webhook.authorization"
            )
        ) {
            "`https://hooks.example.com/sluice?token=…`; only scheme, host and port are ever "
            "shown. Plain `http://` on this machine only"
        }
        .default("none: no message")
        Setting("authorization", \.authorization, .headerValue) {
            "the value of that header, best from `${file:…}`: `Bearer …`"
        }
        Setting("plain_http", \.isPlainAllowed, .boolean) {
            "`true` lets it go to other machines without TLS, where others on the way can read and "
            "change it, the authorization too"
        }
        Setting("timeout", \.timeout, .duration(.milliseconds(100) ... .seconds(60))) {
            "for one attempt, from `100ms` to `60s`"
        }
        Setting("interval", \.interval, .duration(.seconds(10) ... .seconds(86_400))) {
            "for each credential, each event is posted once per interval at most, even if it "
            "flaps; from `10s`"
        }
        Setting.resolve(\.resolvers)
    }

    func check(_ section: borrowing Section) {
        if let place = address?.place, place.scheme == .http, !place.isLoopback, !isPlainAllowed {
            section.problem(
                "url",
                "goes to another machine without TLS, where whoever is on the way reads and changes it; "
                    + "use https, or set webhook.plain_http: true where you trust that network"
            )
        }
        if section.has("authorization"), !section.has("url") {
            section.problem("authorization", "is of no use without webhook.url")
        }
    }
}

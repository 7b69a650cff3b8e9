package import HTTP
import Net

/// The group `devices`.
package struct DeviceSettings: SettingGroup, Sendable, Equatable {
    /// How repeated requests are recognised; with either at 0 none are.
    package struct Duplicates: SettingGroup, Sendable, Equatable {
        package var window: Duration = .seconds(86_400)
        package var max = 200_000

        static var settings: [Setting<Duplicates>] {
            Setting("window", \.window, .duration(.zero ... .seconds(86_400 * 30))) {
                "how long requests are remembered to recognise a repetition (the same "
                "`Idempotency-Key`, or the same pack id and content); a repetition gets the first "
                "answer and is not stored again; `0` recognises none"
            }
            .reload(.atRestart)
            Setting("max", \.max, .count(0...2_000_000)) {
                "how many are remembered. When there are too many, the key with the most forgets "
                "its oldest ([shares](budgets.md#shares)); `200000` take 10 MiB of memory, and `0` "
                "recognises none"
            }
            .reload(.atRestart)
        }
    }

    /// How requests may be signed with a key, besides SLS's own way.
    package struct HMAC: SettingGroup, Sendable, Equatable {
        /// So far the signed time may be from ours, either way.
        package var window: Duration = .seconds(300)
        /// So many are remembered at a time; beyond, what is signed gets 503.
        package var noncesMax = 200_000

        static var settings: [Setting<HMAC>] {
            Setting("window", \.window, .duration(.seconds(1) ... .seconds(3600))) {
                "how far the time of `x-sluice-signature` may be from the gateway's"
            }
            Setting("nonces", \.noncesMax, .count(1...10_000_000)) {
                "how many nonces are remembered until their window ends (about 20 MiB when full), "
                "[shared](budgets.md#shares) by the keys that sign; beyond, signed requests get 503"
            }
        }
    }

    /// Which web pages may send, unless a key says otherwise.
    package struct CORS: SettingGroup, Sendable, Equatable {
        /// Every preflight is answered with all of them.
        private static let headersMax = 32

        package var origins = OriginList.any
        /// In lower case.
        package var headers: [String] = []

        static var settings: [Setting<CORS>] {
            Setting(
                "origins",
                \.origins,
                listOf: .origin,
                1...OriginList.countMax,
                mayBeEmpty: true,
                as: OriginList.init
            ) {
                #"origins of web pages that may send: `["https://app.example.com", "#
                #""https://*.example.com"]`, see [from a web page](access.md#from-a-web-page)"#
            }
            .default("any")
            Setting(
                "headers",
                \.headers,
                listOf: .headerName,
                1...headersMax,
                mayBeEmpty: true,
                as: { Set($0).sorted() }
            ) {
                "names of headers that pages may send besides [those of known "
                "clients](access.md#from-a-web-page): `[x-app-version]`, up to 32"
            }
            .default("none")
        }
    }

    /// What each address may send, with or without a key.
    package struct PerAddress: SettingGroup, Sendable, Equatable {
        /// The address book has this many pages; each needs room for one address.
        package static let addressesMin = 64

        package var rate: Allowance?
        package var bytes: Allowance?
        /// So many are remembered.
        package var addressesMax = 65_536

        static var settings: [Setting<PerAddress>] {
            Setting("rate", \.rate, Allowance.requests) {
                "requests that each address may send, as `rate` of [keys](budgets.md); a v6 "
                "address counts by its /64"
            }
            Setting("bytes", \.bytes, Allowance.bytes) {
                "bytes that each address may send, as `bytes` of [keys](budgets.md)"
            }
            Setting("max_addresses", \.addressesMax, .count(addressesMin...16_777_216)) {
                "addresses whose use is remembered, about 60 B each"
            }
        }
    }

    /// Each connection is compared with all of them.
    private static let proxiesMax = 256

    /// Who may send; with no key, every client that reaches the listener.
    package var keys: [DeviceKey] = []
    package var hmac = HMAC()
    /// Nil accepts no token.
    package var tokens: DeviceTokens?
    package var duplicates = Duplicates()
    package var cors = CORS()
    /// Which clients' paths there are.
    package var accepted = AcceptedDialects.all
    package var perAddress = PerAddress()
    /// Those in front of the listeners.
    package var proxies = ProxyTrust.Rules()
    /// The status that `/logs` answers with.
    package var plainStatus = 200

    package init() {}

    static var settings: [Setting<DeviceSettings>] {
        Setting("keys", \.keys, .list(of: DeviceKey.self)) {
            "keys that devices show, see [access](access.md#keys)"
        } read: {
            DeviceKey.readAll(&$0)
        }
        .default("none: everybody who reaches `listen` may send")
        Setting(group: "hmac", \.hmac)
        Setting("jwt", \.tokens, .group(of: DeviceTokensEntry.self)) {
            "JSON Web Tokens that are accepted in place of a key, see "
            "[access](access.md#json-web-tokens)"
        } read: {
            DeviceTokensEntry.read($0.section("jwt")).map(Optional.some)
        }
        Setting(group: "duplicates", \.duplicates)
        Setting(group: "cors", \.cors)
        Setting(
            "accept",
            \.accepted,
            listOf: .choice(AcceptedDialects.names),
            1...AcceptedDialects.names.count,
            mayBeEmpty: true,
            as: AcceptedDialects.init
        ) {
            "which clients are accepted: some of `[json, sls, otlp, elastic, splunk, loki]`; [the "
            "paths of the others](access.md#which-clients-are-accepted) are 404. Web tracking "
            "belongs to `sls`"
        }
        .default("all")
        Setting("plain_status", \.plainStatus, .count(200...201)) {
            "the status of accepted logs on `/logs/{tag}`: `201` for Puree's `LogServerOutput`, "
            "which sends again for ever after `200`; a request chooses with `?status=201`"
        }
        Setting(group: "per_address", \.perAddress)
        Setting(
            "trusted_proxies",
            \.proxies.ranges,
            listOf: .addressRange,
            1...proxiesMax,
            mayBeEmpty: true
        ) {
            #"proxies in front of the listeners: `[10.0.0.0/8, "2001:db8::7"]`; they may have any "#
            "number of connections, see [behind a proxy](listeners.md#behind-a-proxy)"
        }
        .default("none")
        Setting("proxy_protocol", \.proxies.speaksProxy, .boolean) {
            "`true`: every connection of devices comes through one of `trusted_proxies`, and "
            "begins with a PROXY header"
        }
    }

    func check(_ section: borrowing Section) {
        if section.isEmptyList("accept") {
            let names = AcceptedDialects.names.map(\.key).joined(separator: ", ")
            section.problem(
                "accept",
                "is an empty list, with which no device could send; leave it out to take all, or list some of \(names)"
            )
        }
        if proxies.speaksProxy,
            !section.has("trusted_proxies") || section.isEmptyList("trusted_proxies")
        {
            section.problem(
                "proxy_protocol",
                "wants trusted_proxies, the addresses of the proxies that may say for whom they speak"
            )
        }
    }

    /// Who may send what, by names that are unique.
    package var senders: [(name: String, rules: SenderRules)] {
        let ofTokens = tokens.map { Array(zip($0.names, $0.senders)) } ?? []
        return keys.map { ($0.name, $0.rules) } + ofTokens
    }
}

/// `devices.accept`: the accepted kinds of clients. The paths of the others are unknown.
package struct AcceptedDialects: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `/logs/{tag}`.
    package static let json = AcceptedDialects(rawValue: 1)
    /// PutLogs, web tracking, and the clock that SLS's SDKs ask for.
    package static let sls = AcceptedDialects(rawValue: 2)
    package static let otlp = AcceptedDialects(rawValue: 4)
    package static let elastic = AcceptedDialects(rawValue: 8)
    package static let splunk = AcceptedDialects(rawValue: 16)
    package static let loki = AcceptedDialects(rawValue: 32)

    static let names: KeyValuePairs<String, AcceptedDialects> = [
        "json": .json, "sls": .sls, "otlp": .otlp, "elastic": .elastic, "splunk": .splunk,
        "loki": .loki,
    ]

    package static let all = AcceptedDialects(names.map(\.value))
}

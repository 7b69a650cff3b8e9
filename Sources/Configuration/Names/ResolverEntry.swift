import Crypto
import Net
import Resolvers
import System

/// The group `resolvers.NAME` as the file has it. Its kind says which of the keys it has.
struct ResolverEntry: SettingGroup {
    /// The keys of each kind beside `kind`.
    static let kinds: KeyValuePairs<String, [String]> = [
        "alibaba": [
            "account", "secret", "aes_key", "encryption", "version", "region", "servers",
            "client_ip", "parameters", "allow_private", "cache", "ca_file",
        ],
        "tencent": [
            "id", "key", "algorithm", "token", "servers", "client_ip", "allow_private", "cache",
            "ca_file",
        ],
        "doh": [
            "url", "format", "addresses", "account", "access_key", "secret", "allow_private",
            "cache", "ca_file",
        ],
        "static": ["hosts"],
    ]

    private var kind = ""
    /// Also what the other kinds have in common with it.
    private var account = AlibabaAccount(id: "")
    private var servers: [String] = []
    private var id: String?
    private var key: Secret?
    private var algorithm = Algorithm.aes
    private var token: Secret?
    private var url: String?
    private var format = Format.wire
    private var addresses: [IPAddress] = []
    private var accessKey: String?
    private var hosts: [String: [IPAddress]] = [:]
    private var settings = ResolverSettings(.fixed([:]))

    private enum Algorithm: String, CaseIterable { case aes, des }
    private enum Format: String, CaseIterable { case wire, json }

    static var settings: [Setting<ResolverEntry>] {
        Setting("kind", \.kind, .choice(kinds.map { ($0.key, $0.key) })) {
            "`alibaba`, `tencent`, `doh` or `static`"
        }
        .default("required")
        Setting("account", \.account.id, .text(upTo: 64)) {
            "the account's id at Alibaba's HTTPDNS; for `doh` with `format: json` its `uid`"
        }
        .default("required for `alibaba`")
        Setting("secret", \.account.secret, .secret(bytesMin: 1)) {
            "signs each query, best from `${file:…}`; without it the account must allow unsigned ones"
        }
        Setting("aes_key", \.account.aesKey, .hexKey) {
            "hides the names in a query of version 2: 32 hexadecimal digits"
        }
        Setting("encryption", \.account.encryption, .choice(["gcm": .gcm, "cbc": .cbc])) {
            "how `aes_key` is used: `gcm`, or `cbc` if the account needs it"
        }
        Setting("version", \.account.version, .choice(["v1": .v1, "v2": .v2])) {
            "`v2`, or `v1` for old accounts"
        }
        Setting(
            "region",
            \.account.region,
            .choice(["cn": .cn, "hk": .hk, "sg": .sg, "de": .de, "us": .us])
        ) { "which of Alibaba's servers are asked first: `cn`, `hk`, `sg`, `de` or `us`" }
        Setting("id", \.id, .text(upTo: 64)) { "the account's id at Tencent's HTTPDNS" }
            .default("required for `tencent` without `token`")
        Setting("key", \.key, .secret(bytesMin: 1)) {
            "hides names and answers; needed with `id`, best from `${file:…}`"
        }
        Setting("algorithm", \.algorithm, .word) {
            "how `key` is used: `aes`, or `des` for old accounts"
        }
        Setting("token", \.token, .secret(bytesMin: 1)) {
            "asks Tencent over https in place of `id` and `key`, best from `${file:…}`"
        }
        Setting("url", \.url, .text(upTo: 1024)) {
            "`https://223.5.5.5/dns-query`: a server of DNS over HTTPS"
        }
        .default("required for `doh`")
        Setting("format", \.format, .word) {
            "`wire` is RFC 8484; `json` is Alibaba's `/resolve`"
        }
        Setting("access_key", \.accessKey, .text(upTo: 128)) {
            "with `format: json` and an account: the id of the key whose secret is `secret`"
        }
        Setting(
            "addresses",
            \.addresses,
            listOf: .ipAddress,
            1...16
        ) { "where the server of `url` is, so that its own name needs no resolver" }
        Setting("servers", \.servers, listOf: .resolverServer, 1...16) {
            "`https://203.107.1.1`: servers in place of the service's own"
        }
        .default("the service's own")
        Setting("client_ip", \.account.clientAddress, .ipAddress) {
            "asks for the answer that a client at this address would get"
        }
        .default("the gateway's own")
        Setting(
            "parameters",
            \.account.parameters,
            .texts(),
            show: {
                .group(
                    $0.account.parameters.sorted { $0.key < $1.key }.map {
                        ($0.key, .text($0.value))
                    }
                )
            }
        ) {
            "for Alibaba's software-defined resolution: names and values without `sdns-`"
        } read: {
            readParameters(&$0)
        }
        Setting(
            "hosts",
            \.hosts,
            .shaped("lists of addresses under hosts", .named(.list(of: .text(), count: 1...16)))
        ) {
            "for `static`: hosts with a list of addresses each"
        } read: {
            readHosts(&$0)
        }
        .default("required for `static`")
        Setting("allow_private", \.settings.allowsPrivate, .boolean) {
            "`true` uses addresses of private networks and of this machine; else they count as no "
            "answer. A server on this machine may always answer them"
        }
        Setting("cache", \.settings.isCached, .boolean) {
            "`false` uses an answer for its own TTL only: `names.ttl_min` does not lengthen it, "
            "and it is used neither after its time nor after a restart"
        }
        Setting("ca_file", \.settings.authorities, .readableFile) {
            "certificates to trust for the resolver's servers"
        }
        .default("the system's")
    }

    // MARK: - Reading

    /// The group `resolvers`.
    static func readAll(_ section: inout Section) -> [String: ResolverSettings]? {
        var group = section.section("resolvers")
        var resolvers: [String: ResolverSettings] = [:]
        for name in group.names {
            if name == NameSettings.system {
                group.problem(name, "is always there and needs no description; take the lines away")
            } else if !isNameOfLetters(name) {
                group.problem(name, "a name has 1 to 64 letters, digits, '-', '_' and '.'")
            }
            resolvers[name] = read(group.section(name))
        }
        if group.names.count > NameSettings.resolversMax {
            let most = NameSettings.resolversMax
            section.problem("resolvers", "there are \(group.names.count); give at most \(most)")
        }
        group.refuseOthers()
        return resolvers
    }

    private static func read(_ section: consuming Section) -> ResolverSettings? {
        var entry = ResolverEntry()
        guard let (kind, keys) = entry.readKind("kind", \.kind, of: kinds, &section) else {
            if !section.has("kind") {
                let list = kinds.map(\.key).joined(separator: ", ")
                section.problem("kind", "is missing; write one of \(list)")
            }
            return nil
        }
        entry.readSettings(&section, only: keys)
        section.refuseEmpty()
        let found: ResolverSettings.Kind? =
            switch kind {
            case "alibaba": entry.alibaba(section)
            case "tencent": entry.tencent(section)
            case "doh": entry.doh(section)
            default: entry.fixed(section)
            }
        section.refuseOthers()
        return found.map { kind in
            entry.settings.kind = kind
            return entry.settings
        }
    }

    private func alibaba(_ section: borrowing Section) -> ResolverSettings.Kind? {
        section.require("account", "write the account's id, as the console of HTTPDNS shows it")
        if section.has("aes_key"), account.version == .v1 {
            section.problem("aes_key", "is of no use with version v1; write version: v2")
        }
        if account.version == .v2, let secret = account.secret,
            Kind<Secret>.hexDigits(secret) == nil
        {
            section.problem("secret", "wants hexadecimal digits with version v2, an even number")
        }
        var found = account
        found.servers = parsedServers(certificateName: AlibabaAccount.certificateName)
        return .alibaba(found)
    }

    private func tencent(_ section: borrowing Section) -> ResolverSettings.Kind? {
        let access: TencentAccount.Access
        if let token {
            for other in ["id", "key", "algorithm"] where section.has(other) {
                section.problem(other, "is of no use with token; keep one of them")
            }
            access = .token(token)
        } else {
            section.require("id", "write id and key, or token")
            section.require("key", "write the key that goes with id")
            guard let id, let key else { return nil }
            access = algorithm == .aes ? .aes(id: id, key: key) : .des(id: id, key: key)
        }
        var found = TencentAccount(access)
        found.clientAddress = account.clientAddress
        found.servers = parsedServers(certificateName: nil)
        if case .token = access {
            for server in found.servers where !server.isEncrypted && !server.isOnThisMachine {
                section.problem("servers", "\(server) would see the token in plain text; use https")
            }
        }
        return .tencent(found)
    }

    private func doh(_ section: borrowing Section) -> ResolverSettings.Kind? {
        section.require("url", "write the server's URL, as in https://223.5.5.5/dns-query")
        if format == .wire {
            for other in ["account", "access_key", "secret"] where section.has(other) {
                section.problem(other, "is for format: json")
            }
        }
        let parts = [!account.id.isEmpty, accessKey != nil, account.secret != nil]
        if parts.contains(true), parts.contains(false), format == .json {
            section.problem("account", "needs access_key and secret beside it")
        }
        guard let url else { return nil }
        guard let mark = url.firstRange(of: "://") else {
            section.problem("url", "has no scheme; write it as https://223.5.5.5/dns-query")
            return nil
        }
        let rest = url[mark.upperBound...]
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let server = ResolverServer(String(url[..<end])), end < rest.endIndex,
            url[end...].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "?") })
        else {
            section.problem(
                "url",
                "is not the URL of a server with a path and without a query, as in "
                    + "https://223.5.5.5/dns-query"
            )
            return nil
        }
        guard server.isEncrypted || server.isOnThisMachine else {
            section.problem("url", "wants https; plain http goes to this machine only")
            return nil
        }
        var settings = DoHSettings(server: server, path: String(url[end...]))
        settings.addresses = addresses
        guard format == .json else { return .doh(settings) }
        guard let accessKey, let secret = account.secret else { return .json(settings, nil) }
        let user = AlibabaJSON.Account(user: account.id, key: accessKey, secret: secret)
        return .json(settings, user)
    }

    private func fixed(_ section: borrowing Section) -> ResolverSettings.Kind? {
        section.require("hosts", "list hosts with their addresses")
        return .fixed(hosts)
    }

    private func parsedServers(certificateName: String?) -> [ResolverServer] {
        servers.compactMap { ResolverServer($0, certificateName: certificateName) }
    }

    private static func readParameters(_ section: inout Section) -> [String: String]? {
        var group = section.section("parameters")
        var found: [String: String] = [:]
        for key in group.names {
            guard let value = group.value(key, .text(upTo: 256)) else { continue }
            if key.isEmpty || !key.isOfLetters(and: "-_") || !value.isOfLetters(and: "-_=") {
                group.problem(key, "wants letters, digits, '-' and '_', in the value also '='")
            }
            found[key] = value
        }
        let bytes = found.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        if bytes > AlibabaAccount.parametersBytesMax {
            let most = AlibabaAccount.parametersBytesMax
            section.problem("parameters", "has \(bytes) bytes; give at most \(most)")
        }
        group.refuseOthers()
        return found
    }

    private static func readHosts(_ section: inout Section) -> [String: [IPAddress]]? {
        var group = section.section("hosts")
        var hosts: [String: [IPAddress]] = [:]
        for name in group.names {
            if !HostName.isValid(HostName.canonical(name)) {
                group.problem(name, "is not the name of a host")
            }
            let addresses = group.list(name, .ipAddress, counts: 1...16)
            if let addresses { hosts[HostName.canonical(name)] = addresses }
        }
        if hosts.count > NameSettings.hostsLimit {
            let most = NameSettings.hostsLimit
            section.problem("hosts", "there are \(hosts.count); give at most \(most)")
        }
        group.refuseOthers()
        return hosts
    }
}

// MARK: - Kinds

extension Kind<IPAddress> {
    static var ipAddress: Kind {
        Kind(
            wants: "an address such as 192.0.2.7",
            show: { .text("\($0)") },
            or: "is not an address; write one such as 192.0.2.7",
            parsedBy: IPAddress.init
        )
    }
}

extension Kind<String> {
    fileprivate static var resolverServer: Kind {
        Kind(
            wants: "a server such as https://203.107.1.1",
            show: { .text($0) },
            or: "is not a server; write one such as https://203.107.1.1"
        ) { ResolverServer($0) == nil ? nil : $0 }
    }
}

extension Kind<Secret> {
    fileprivate static var hexKey: Kind {
        Kind(wants: "a key of 32 hexadecimal digits") { text throws(Mismatch) in
            try expect(hexDigits(Secret(text)) == 32) { "is not a key of 32 hexadecimal digits" }
            return Secret(text)
        }
    }

    /// How many digits the text has; nil if it is not pairs of hexadecimal digits.
    fileprivate static func hexDigits(_ secret: Secret) -> Int? {
        secret.withBytes { bytes in
            let isHex = bytes.allSatisfy { hexValue($0) != nil }
            return isHex && bytes.count % 2 == 0 ? bytes.count : nil
        }
    }
}

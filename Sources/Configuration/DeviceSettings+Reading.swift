import HTTP

extension DeviceSettings {
    /// Each connection is compared with all of them.
    private static let proxiesMax = 256
    /// Every preflight is answered with all of them.
    private static let headersMax = 32

    static func read(
        _ section: consuming Section,
        destinations: Set<String>,
        clientsHaveNames: Bool
    ) -> DeviceSettings {
        var settings = DeviceSettings()
        settings.keys = DeviceKey.readAll(
            &section,
            destinations: destinations,
            clientsHaveNames: clientsHaveNames
        )
        settings.readHMAC(section.section("hmac"))
        settings.tokens = DeviceTokens.read(section.section("jwt"), destinations: destinations)
        var duplicates = section.section("duplicates")
        let window = Kind<Duration>.duration(.zero ... .seconds(86_400 * 30))
        if let window = duplicates.value("window", window) { settings.duplicates.window = window }
        if let count = duplicates.value("max", .count(0...2_000_000)) {
            settings.duplicates.max = count
        }
        duplicates.refuseOthers()
        settings.readCORS(section.section("cors"))
        settings.readAccepted(&section)
        settings.perAddress = PerAddress.read(section.section("per_address"))
        settings.readProxies(&section)
        section.refuseOthers()
        return settings
    }

    private mutating func readHMAC(_ section: consuming Section) {
        if let window = section.value("window", .duration(.seconds(1) ... .seconds(3600))) {
            hmac.window = window
        }
        if let count = section.value("nonces", .count(1...10_000_000)) { hmac.noncesMax = count }
        section.refuseOthers()
    }

    private mutating func readProxies(_ section: inout Section) {
        let key = "trusted_proxies"
        if section.isEmptyList(key) {
            section.know(key)
        } else if let ranges = section.list(key, .addressRange, counts: 1...Self.proxiesMax) {
            proxies.ranges = ranges
        }
        guard section.value("proxy_protocol", .boolean) == true else { return }
        proxies.speaksProxy = true
        guard !section.has(key) || section.isEmptyList(key) else { return }
        section.problem(
            "proxy_protocol",
            "wants trusted_proxies, the addresses of the proxies that may say for whom they speak"
        )
    }

    private mutating func readAccepted(_ section: inout Section) {
        let key = "accept"
        let kind = Kind<AcceptedDialects>.choice(AcceptedDialects.names)
        if section.isEmptyList(key) {
            section.know(key)
            let names = AcceptedDialects.names.map(\.key).joined(separator: ", ")
            section.problem(
                key,
                "is an empty list, with which no device could send; leave it out to take all, or list some of \(names)"
            )
        } else if let list = section.list(key, kind, counts: 1...AcceptedDialects.names.count) {
            accepted = AcceptedDialects(list)
        }
    }

    private mutating func readCORS(_ section: consuming Section) {
        // An empty list says what no list says.
        if section.isEmptyList("origins") {
            section.know("origins")
        } else if let list = section.list("origins", .origin, counts: 1...OriginList.countMax) {
            origins = OriginList(list)
        }
        if section.isEmptyList("headers") {
            section.know("headers")
        } else if let list = section.list("headers", .headerName, counts: 1...Self.headersMax) {
            corsHeaders = Set(list).sorted()
        }
        section.refuseOthers()
    }
}

extension DeviceSettings.PerAddress {
    fileprivate static func read(_ section: consuming Section) -> DeviceSettings.PerAddress {
        var settings = DeviceSettings.PerAddress()
        settings.rate = section.value("rate", .rate)
        settings.bytes = section.value("bytes", .byteRate)
        let counts = DeviceSettings.PerAddress.addressesMin...16_777_216
        if let count = section.value("addresses_max", .count(counts)) {
            settings.addressesMax = count
        }
        section.refuseOthers()
        return settings
    }
}
